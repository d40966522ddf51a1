package e2e

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

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
	h := newHarness(t)
	h.write("data/table.csv", "data", 0o644)
	h.write("docs/paper/notes.txt", "docs", 0o644)
	h.write("a.py", `
print(open("/data/table.csv").read(), open("data/table.csv").read(), open("/docs/paper/notes.txt").read(),
      open("docs/paper/notes.txt").read(), __file__)
`, 0o644)
	r := h.start("--id", h.newID(), "--data", "data", "--docs", "docs", "--script", "a.py")
	r.expect(t, "complete", "exit", 0)
	if got, want := h.stdoutOf(r), "data data docs docs /analysis/a.py\n"; got != want {
		t.Errorf("it read %q, want %q", got, want)
	}
}
