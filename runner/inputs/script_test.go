package inputs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode/inodetest"
	"github.com/scidex-ai/scidex-oci/spec"
)

func TestScriptInProject(t *testing.T) {
	dir := inodetest.Tree(t, "project/sub/s.py", "s.py")
	inodetest.Try(t, os.Symlink("../s.py", dir+"/project/out.py"), os.Symlink("sub/s.py", dir+"/project/in.py"))
	for name, want := range map[string]string{"project/sub/s.py": "sub/s.py", "project/in.py": "sub/s.py", "project/out.py": "", "s.py": ""} {
		rel, err := relative(inodetest.Open(t, dir+"/project"), inodetest.Open(t, filepath.Join(dir, name)))
		if rel != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", name, rel, err, want)
		}
	}
	// One that was opened is not the one that has its name by now.
	project, script := inodetest.Open(t, dir+"/project"), inodetest.Open(t, dir+"/project/sub/s.py")
	if _, err := relative(project, script); err != nil {
		t.Fatal(err)
	}
	inodetest.Try(t, os.Rename(dir+"/project/sub", dir+"/project/sub2"), os.Mkdir(dir+"/project/sub", 0o755),
		os.Rename(dir+"/s.py", dir+"/project/sub/s.py"))
	if rel, err := relative(project, script); err == nil && rel != "sub2/s.py" {
		t.Errorf("after a rename it is %q", rel)
	}
	inodetest.Try(t, os.Rename(dir+"/project", dir+"/away"), os.MkdirAll(dir+"/project/sub2", 0o755), os.WriteFile(dir+"/project/sub2/s.py", nil, 0o600))
	if rel, err := relative(project, inodetest.Open(t, dir+"/project/sub2/s.py")); err == nil {
		t.Errorf("another project's script is taken for %q", rel)
	}
}

// TestScriptThatBlocks: a FIFO is refused and not waited for.
func TestScriptThatBlocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.py")
	inodetest.Try(t, unix.Mkfifo(path, 0o644))
	if _, err := openAndScan(t, spec.Analysis{Script: path}); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("got %v", err)
	}
}

// TestScriptUnderAMount: what has the script's name in the project that was opened is not the script.
func TestScriptUnderAMount(t *testing.T) {
	inodetest.WithMounts(t, func() {
		dir := inodetest.Tree(t, "project/s.py", "other/s.py")
		project := inodetest.Open(t, dir+"/project")
		inodetest.BindMount(t, dir+"/other", dir+"/project")
		if rel, err := relative(project, inodetest.Open(t, dir+"/project/s.py")); err == nil {
			t.Errorf("it is taken for %q", rel)
		}
	})
}
