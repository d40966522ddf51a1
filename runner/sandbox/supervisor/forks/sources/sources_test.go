package sources

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSame changes a file or a directory, in each way that there is.
func TestSame(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"written": func(dir string) error { return os.WriteFile(dir+"/module.py", []byte("x = 2"), 0o600) },
		"replaced": func(dir string) error {
			if err := os.WriteFile(dir+"/new", []byte("x = 1"), 0o600); err != nil {
				return err
			}
			return os.Rename(dir+"/new", dir+"/module.py")
		},
		"removed":    func(dir string) error { return os.Remove(dir + "/module.py") },
		"a mode":     func(dir string) error { return os.Chmod(dir+"/module.py", 0o644) },
		"one beside": func(dir string) error { return os.WriteFile(dir+"/other.py", nil, 0o600) },
		"its directory replaced": func(dir string) error {
			if err := os.Rename(dir, dir+".moved"); err != nil {
				return err
			}
			return os.CopyFS(dir, os.DirFS(dir+".moved"))
		},
		"its directory removed": os.RemoveAll,
		"a link": func(dir string) error {
			if err := os.Rename(dir+"/module.py", dir+"/moved.py"); err != nil {
				return err
			}
			return os.Symlink("moved.py", dir+"/module.py")
		},
	} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err == nil {
			err = os.WriteFile(dir+"/module.py", []byte("x = 1"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := Note(os.Getpid(), []string{dir, dir + "/module.py"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Same(); err != nil {
			t.Errorf("%s: before the change: %v", name, err)
		}
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		if err := s.Same(); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(dir, "/")) {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
	}
}

// TestMapped: what a process has mapped is known without its word.
func TestMapped(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Note(os.Getpid(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, d := range s.dirs {
		for _, f := range d.files {
			if filepath.Join("/", d.name, f.name) == program {
				return
			}
		}
	}
	t.Errorf("%s is not among the files of %d directories", program, len(s.dirs))
}

// TestMissing: a file that is not there cannot be compared.
func TestMissing(t *testing.T) {
	if s, err := Note(os.Getpid(), []string{"/none/module.py"}); err == nil {
		s.Close()
		t.Error("a file that is not there was noted")
	}
	if s, err := Note(1<<30, nil); err == nil {
		s.Close()
		t.Error("a process that is not there was noted")
	}
	var none *Sources
	none.Close()
}
