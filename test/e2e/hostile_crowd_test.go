package e2e

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

// crowdEntries is how many names one directory has, a fiftieth of what SCIDEX_OCI_SOAK requests.
func crowdEntries() int {
	if os.Getenv("SCIDEX_OCI_SOAK") != "" {
		return 1_000_000
	}
	return 20_000
}

// TestCrowd harvests one directory with very many entries.
func TestCrowd(t *testing.T) {
	catalogs(t, func(t *testing.T, h *harness) {
		n, id := crowdEntries(), h.id("crowd")
		want, outputs := treeOfCrowd(n)
		r := h.crowd(id, n)
		r.expect(t, "complete", "exit", 0)
		if r.OutputsTotal != int64(n/10) || r.RejectedTotal != int64(n-n/10) || !r.ListingTruncated {
			t.Errorf("totals %d and %d, truncated: %v", r.OutputsTotal, r.RejectedTotal, r.ListingTruncated)
		}
		h.sameTree("outputs ls --json", h.listedTree(id), want)
		h.sameTree("outputs find", h.foundTree(id), outputs)
		h.mustRun("outputs", "export", id, "exported")
		exported := exportedTree(t, h.path("exported"))
		delete(exported, "scidex-result.json")
		h.sameTree("outputs export", exported, outputs)
		h.mustRun("rm", id)
	})
}

// crowd runs crowd.py and measures its memory, if the catalog can be locked until then.
func (h *harness) crowd(id string, n int) (r result) {
	h.t.Helper()
	program := readFile(h.t, testdata(h.t, "trees/crowd.py"))
	h.mustRun("ls") // makes the catalog
	if exists(h.root + "/catalog.db") {
		h.fillInBoundedMemory(leaving{id: id, program: program, n: n, blobs: n / 10}, &r)
		return r
	}
	h.write("crowd.py", program, 0o644)
	return h.start("--id", id, "--data=none", "--docs=none", "--work-files=2000000", "--timeout=1h", "--script", "crowd.py", strconv.Itoa(n))
}

func treeOfCrowd(n int) (all, outputs tree) {
	all, outputs = tree{}, tree{}
	for i := range n {
		if i%10 != 0 {
			all[fmt.Sprintf("crowd/l%07d", i)] = linkTo("/etc/shadow")
			continue
		}
		path, content := fmt.Sprintf("crowd/f%07d", i), ofText(strconv.Itoa(i))
		all[path], outputs[path] = content, content
	}
	return all, outputs
}
