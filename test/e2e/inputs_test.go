package e2e

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asInputs makes a tree, a file and a script, and returns the flags that bind them.
func (h *harness) asInputs() []string {
	h.write("tree/a/one.csv", "1\n", 0o644)
	h.write("tree/two.csv", "22\n", 0o644)
	h.write("table.csv", "a,b\n", 0o644)
	h.write("count.sh", "cat /data/a/one.csv /data/two.csv /inputs/table.csv >all\n", 0o644)
	return []string{"--data", "tree", "--input", "table.csv", "--script", "count.sh"}
}

// digests are those of a result by their flags, after what they are of.
func digests(r result) map[string]string {
	all := map[string]string{}
	for _, in := range r.Inputs {
		all[in.Flag] = in.Digested
		if in.SHA256 != nil {
			all[in.Flag] += " " + *in.SHA256
		}
	}
	return all
}

// TestInputDigests: what the result says of inputs, for each word of --digest-inputs.
func TestInputDigests(t *testing.T) {
	h := newHarness(t)
	inputs := h.asInputs()
	run := func(mode string, more ...string) result {
		t.Helper()
		r := h.start(append(append(flags("--id", h.newID(), "--digest-inputs", mode), more...), inputs...)...)
		r.expect(t, "complete", "exit", 0)
		return r
	}
	table := fmt.Sprintf("content %x", sha256.Sum256([]byte("a,b\n")))

	none := run("script")
	if got := digests(none); got["--data"] != "none" || got["--input"] != "none" || none.Script == nil || none.Script.SHA256 == "" {
		t.Errorf("script: %v", got)
	}
	listed := run("listing")
	if got := digests(listed); !strings.HasPrefix(got["--data"], "listing ") || got["--input"] != table {
		t.Errorf("listing: %v", got)
	}
	full := run("full")
	if got := digests(full); !strings.HasPrefix(got["--data"], "content ") || got["--input"] != table || !strings.HasPrefix(got["--rootfs"], "listing ") {
		t.Errorf("full: %v", got)
	}
	if in := full.Inputs[0]; in.Files != 2 || in.Bytes != 5 || in.Destination != "/data" || in.Source != filepath.Join(h.dir, "tree") {
		t.Errorf("data: %+v", in)
	}
	if usual := h.start(append(flags("--id", h.newID()), inputs...)...); digests(usual)["--data"] != digests(listed)["--data"] {
		t.Error("listing is not the default, or does not repeat")
	}

	// The same bytes at another time are another listing and the same content.
	time.Sleep(20 * time.Millisecond)
	h.write("tree/two.csv", "22\n", 0o644)
	if got := digests(run("listing")); got["--data"] == digests(listed)["--data"] {
		t.Error("a file was written, and the listing is the same")
	}
	if got := digests(run("full")); got["--data"] != digests(full)["--data"] {
		t.Error("the content is the same, and its digest is not")
	}
	h.write("tree/two.csv", "23\n", 0o644)
	if got := digests(run("full")); got["--data"] == digests(full)["--data"] {
		t.Error("the content is another, and its digest is the same")
	}
	h.mustRefuse([]string{"run", "--digest-inputs", "all", "--", "true"}, `--digest-inputs "all" is not known`)
}

// TestInputChangedDuringTheRun: an input that is written while the analysis runs is reported, and its digest is not that
// of the new content.
func TestInputChangedDuringTheRun(t *testing.T) {
	h := newHarness(t)
	h.write("tree/one.csv", "1\n", 0o644)
	l := h.launch(h.newID(), "--digest-inputs", "full", "--data", "tree", "--", "sh", "-c", "echo begun >&2; exec sleep 600")
	l.await("begun")
	h.write("tree/two.csv", "", 0o644)
	l.signal(syscall.SIGTERM)
	r := l.wait()
	r.expect(t, "canceled", "stopped", 143)
	if in := r.Inputs[0]; !in.Changed || !warns(r, "was changed while the run went on") {
		t.Errorf("%+v, warnings %q", in, r.Warnings)
	}
}

func warns(r result, words string) bool {
	return slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, words) })
}

// TestInputDigestsAreConcurrent: a digest that takes minutes does not delay the analysis, nor, after a stop signal, the
// result.
func TestInputDigestsAreConcurrent(t *testing.T) {
	h := newHarness(t)
	h.write("tree/small", "1\n", 0o644)
	if err := os.Truncate(h.write("huge", "", 0o644), 4<<40); err != nil {
		t.Fatal(err)
	}
	id := h.newID()
	l := h.launch(id, "--data", "tree", "--input", "huge", "--", "sh", "-c", "echo begun >&2")
	l.await("begun")
	until(t, hangTimeout, "the analysis has ended", func() bool { return h.analysisEnded(id) })
	until(t, hangTimeout, "the run is over", func() bool { // the first may come while the analysis' output is still read
		_ = l.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-l.ended:
			return true
		case <-time.After(200 * time.Millisecond):
			return false
		}
	})
	r := l.wait()
	r.expect(t, "complete", "exit", 0)
	if got := digests(r); !strings.HasPrefix(got["--data"], "listing ") || got["--input"] != "none" || !warns(r, "a signal ended the wait for it") {
		t.Errorf("%v, warnings %q", got, r.Warnings)
	}
}

// TestInputUnreadable: an input without a digest has a reason, and the analysis runs all the same.
func TestInputUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	h := newHarness(t)
	h.write("tree/open", "1\n", 0o644)
	h.write("tree/closed", "1\n", 0)
	r := h.start("--id", h.newID(), "--digest-inputs", "full", "--data", "tree", "--", "true")
	r.expect(t, "complete", "exit", 0)
	if in := r.Inputs[0]; in.SHA256 != nil || !strings.Contains(in.Message, `"closed"`) || !warns(r, "has no digest") {
		t.Errorf("%+v, warnings %q", in, r.Warnings)
	}
}
