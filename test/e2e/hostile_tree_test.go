package e2e

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// tree is what an analysis leaves, by the exact bytes of its paths.
type tree map[string]leaf

// leaf is what is to become of one entry.
type leaf struct {
	sha256  string // of an output
	partial bool
	reason  string // of what is none
	detail  string
}

func ofText(content string) leaf { return leaf{sha256: digest([]byte(content))} }

func refusedAs(reason, detail string) leaf { return leaf{reason: reason, detail: detail} }

func linkTo(target string) leaf { return refusedAs("symlink", "-> "+target) }

// cut is the same output of a run that was ended.
func (l leaf) cut() leaf {
	l.partial = l.reason == ""
	return l
}

// expectTree checks that every command that shows a run shows this tree, and that its directory is gone.
func (h *harness) expectTree(r result, want tree) {
	h.t.Helper()
	h.sameTree("run --json", r.tree(), want)
	h.sameTree("show --json", h.show(r.ID).tree(), want)
	h.sameTree("outputs ls --json", h.listedTree(r.ID), want)
	outputs := tree{}
	for path, l := range want {
		if l.reason == "" {
			outputs[path] = leaf{sha256: l.sha256}
		}
	}
	h.sameTree("outputs find", h.foundTree(r.ID), outputs)
	h.sameTree("outputs cat", h.catTree(r.ID, outputs), outputs)
	h.mustRun("outputs", "export", r.ID, "export-"+r.ID)
	exported := exportedTree(h.t, h.path("export-"+r.ID))
	shown := exported["scidex-result.json"]
	delete(exported, "scidex-result.json")
	delete(outputs, "scidex-result.json") // the place is the result's own
	h.sameTree("outputs export", exported, outputs)
	if of, err := lookUp([]byte(readFile(h.t, h.path("export-"+r.ID+"/scidex-result.json"))), "id"); err != nil || of != r.ID || shown.reason != "" {
		h.t.Errorf("the exported result is of %q (%v)", of, err)
	}
	if left := matches("/tmp/scidex-analysis-" + r.ID); len(left) > 0 {
		h.t.Errorf("left behind: %q", left)
	}
	if err := os.RemoveAll(h.path("export-" + r.ID)); err != nil { // nobody else reads paths as long as these
		h.t.Error(err)
	}
	h.mustRun("rm", r.ID)
	h.mustRefuse(flags("show", r.ID), "no run")
}

func (h *harness) sameTree(what string, got, want tree) {
	h.t.Helper()
	for path, l := range want {
		if g, ok := got[path]; g != l {
			h.t.Errorf("%s: %.200q is %+v (there: %v), want %+v", what, path, g, ok, l)
		}
	}
	for path, l := range got {
		if _, ok := want[path]; !ok {
			h.t.Errorf("%s: unexpected %.200q: %+v", what, path, l)
		}
	}
}

// put adds an entry, of which there must be one for each path.
func (tr tree) put(path string, l leaf) {
	if _, twice := tr[path]; twice {
		l = leaf{reason: "told of twice"}
	}
	tr[path] = l
}

func (r result) tree() tree {
	all := tree{}
	for _, o := range r.Outputs {
		all.put(exact(o.Path, o.PathB64), leaf{sha256: o.SHA256, partial: o.Partial})
	}
	for _, e := range r.Rejected {
		all.put(exact(e.Path, e.PathB64), refusedAs(e.Reason, e.Detail))
	}
	if int64(len(r.Outputs)) != r.OutputsTotal || int64(len(r.Rejected)) != r.RejectedTotal || r.ListingTruncated {
		all["the totals"] = leaf{reason: "not those of the lists"}
	}
	return all
}

// entryLine is a line of outputs ls --json or of outputs find --json.
type entryLine struct {
	ID      string `json:"id"`
	Verdict string `json:"verdict"`
	Path    string `json:"path"`
	PathB64 []byte `json:"path_b64"`
	SHA256  string `json:"sha256"`
	Partial bool   `json:"partial"`
	Reason  string `json:"reason"`
	Detail  string `json:"detail"`
}

func (h *harness) entryLines(args ...string) (all []entryLine) {
	h.t.Helper()
	for line := range strings.Lines(h.mustRun(args...).stdout) {
		var l entryLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			h.t.Errorf("%q: %v in %q", args, err, line)
		}
		all = append(all, l)
	}
	return all
}

func (h *harness) listedTree(id string) tree {
	h.t.Helper()
	all := tree{}
	for _, l := range h.entryLines("outputs", "ls", "--json", id) {
		if (l.Verdict == "output") != (l.Reason == "") || (l.Verdict == "rejected") != (l.SHA256 == "") {
			h.t.Errorf("a line that contradicts itself: %+v", l)
		}
		all.put(exact(l.Path, l.PathB64), leaf{l.SHA256, l.Partial, l.Reason, l.Detail})
	}
	return all
}

// foundTree are the outputs of a run that are found among those of all.
func (h *harness) foundTree(id string) tree {
	h.t.Helper()
	all := tree{}
	for _, l := range h.entryLines("outputs", "find", "--json", "--limit", "0", "**") {
		if l.ID == id {
			all.put(exact(l.Path, l.PathB64), leaf{sha256: l.SHA256})
		}
	}
	return all
}

func (h *harness) catTree(id string, outputs tree) tree {
	h.t.Helper()
	all := tree{}
	for path := range outputs {
		out := h.do("outputs", "cat", "--", id, path)
		if out.code != 0 {
			all.put(path, leaf{reason: out.stderr})
			continue
		}
		all.put(path, ofText(out.stdout))
	}
	return all
}

// exportedTree reads a directory with the exact bytes of its names, however long its paths are.
func exportedTree(t *testing.T, dir string) tree {
	t.Helper()
	top, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := tree{}
	all.read(t, top, "")
	return all
}

func (tr tree) read(t *testing.T, dir *os.File, path string) {
	t.Helper()
	defer dir.Close()
	names, err := dir.Readdirnames(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		var st unix.Stat_t
		if err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			t.Fatal(err)
		}
		kind := st.Mode & unix.S_IFMT
		if kind != unix.S_IFDIR && kind != unix.S_IFREG || st.Mode&0o7000 != 0 || int(st.Uid) != os.Geteuid() {
			tr.put(path+name, leaf{reason: "neither an ordinary file nor a directory of the caller's"})
			continue
		}
		fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), path+name)
		if kind == unix.S_IFDIR {
			tr.read(t, f, path+name+"/")
			continue
		}
		content, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		tr.put(path+name, ofText(string(content)))
	}
}

// catalogs are what every tree is committed to.
func catalogs(t *testing.T, test func(t *testing.T, h *harness)) {
	for _, c := range []struct {
		name string
		open func(t *testing.T) *harness
	}{
		{"sqlite", newHarness},
		{"postgres", func(t *testing.T) *harness { h, _ := inPostgres(t); return h }},
	} {
		t.Run(c.name, func(t *testing.T) { test(t, c.open(t)) })
	}
}
