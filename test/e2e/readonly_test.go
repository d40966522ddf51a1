package e2e

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestInputsAreReadOnly gives everyone every right on the inputs, so that nothing but the mount protects
// them, and tries to change them in every way.
func TestInputsAreReadOnly(t *testing.T) {
	h := newHouse(t)
	outside(t, "spoil.py", spoilable(h, "control")).each(t, func(_, got string) string {
		return unless(got == "ok", "want ok outside, or it proves nothing")
	})
	data, docs, input := spoilable(h, "data"), spoilable(h, "docs"), spoilable(h, "input")
	flags := []string{"--data", data, "--docs", docs, "--input", input + ":/inputs/more"}
	before := snapshot(t, h.dir)
	for _, there := range []string{"/data", "/docs", "data", "docs", "/inputs/more"} {
		h.inside("spoil.py", flags, there).each(t, func(_, got string) string {
			return unless(got == "EROFS", "want EROFS in "+there)
		})
	}
	if after := snapshot(t, h.dir); !maps.Equal(before, after) {
		t.Errorf("the inputs changed:\n%v\n%v", before, after)
	}
}

// spoilable makes a directory that spoil.py can spoil.
func spoilable(h *house, name string) string {
	h.write(name+"/kept", "precious", 0o666)
	h.write(name+"/spare", "precious", 0o666)
	h.write(name+"/sub/below", "", 0o666)
	if err := os.Remove(h.path(name + "/sub/below")); err != nil {
		h.t.Fatal(err)
	}
	for _, dir := range []string{name, name + "/sub"} {
		if err := os.Chmod(h.path(dir), 0o777); err != nil {
			h.t.Fatal(err)
		}
	}
	return h.path(name)
}

// snapshot describes everything below dir: owner, mode, times of change and content.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		content := ""
		if info.Mode().IsRegular() {
			content = fmt.Sprintf("%x", sha256.Sum256([]byte(readFile(t, path))))
		}
		found[path] = fmt.Sprint(info.Mode(), st.Uid, st.Gid, st.Nlink, st.Mtim, st.Ctim, content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestReadsItsInputs(t *testing.T) {
	h := newHouse(t)
	h.write("data/table.csv", "data", 0o644)
	h.write("docs/paper/notes.txt", "docs", 0o644)
	h.write("a.py", `
print(open("/data/table.csv").read(), open("data/table.csv").read(), open("/docs/paper/notes.txt").read(),
      open("docs/paper/notes.txt").read(), __file__)
`, 0o644)
	r := h.start("--id", h.fresh(), "--data", "data", "--docs", "docs", "--script", "a.py")
	r.expect(t, "complete", "exit", 0)
	if got, want := h.stdoutOf(r), "data data docs docs /analysis/a.py\n"; got != want {
		t.Errorf("it read %q, want %q", got, want)
	}
}
