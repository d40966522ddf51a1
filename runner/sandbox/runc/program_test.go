package runc

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// TestProgramNamed: nobody can mend what is called /proc/self/fd/5.
func TestProgramNamed(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "program"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p := program{path: inode.ProcPath(file), file: file}
	err = p.named(&fs.PathError{Op: "execve", Path: p.path, Err: unix.EACCES})
	if want := "execve " + file.Name() + ": permission denied"; err.Error() != want {
		t.Errorf("%v, want %v", err, want)
	}
	if p.named(nil) != nil {
		t.Error("there is an error of none")
	}
}
