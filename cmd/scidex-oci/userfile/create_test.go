package userfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
	"github.com/scidex-ai/scidex-oci/test/durable"
)

// another is the uid of another user; the host need not know it.
const another = 54321

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func TestCreateRefuses(t *testing.T) {
	top := t.TempDir()
	must(t, os.Mkdir(top+"/dir", 0o700))
	must(t, os.WriteFile(top+"/file", nil, 0o600))
	must(t, os.Symlink("file", top+"/link"))
	must(t, unix.Mkfifo(top+"/fifo", 0o600))
	for name, want := range map[string]string{
		"dir": "no regular file", "link": "no regular file", "fifo": "no regular file", "dir/": "name a file in it", "none/x": "does not exist; make it first",
		"file/x": "not a directory", "file": "--overwrite", "loop/..": "name a file in it",
	} {
		for _, replace := range []bool{false, true} {
			f, err := Create(top+"/"+name, replace, 0o600)
			switch {
			case name == "file" && replace && err == nil:
				must(t, f.dir.Close())
			case err == nil || !strings.Contains(err.Error(), want):
				t.Errorf("%s, %t: %v, want %q", name, replace, err, want)
			}
		}
	}
	if left, err := os.ReadDir(top); err != nil || len(left) != 4 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestPutWritesWhereItWasNamed: the directory of a file is exchanged after it was named.
func TestPutWritesWhereItWasNamed(t *testing.T) {
	for name, exchange := range map[string]func(t *testing.T, dir, victim string){
		"the directory": func(t *testing.T, dir, victim string) {
			t.Helper()
			must(t, os.Rename(dir, dir+".old"))
			must(t, os.Symlink(victim, dir))
		},
		"a link for the file": func(t *testing.T, dir, victim string) {
			t.Helper()
			must(t, os.Symlink(victim+"/secret", dir+"/file"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, victim := filepath.Join(t.TempDir(), "dir"), t.TempDir()
			must(t, os.Mkdir(dir, 0o755))
			must(t, os.WriteFile(victim+"/secret", []byte("secret"), 0o600))
			f, err := Create(dir+"/file", true, 0o666)
			must(t, err)
			exchange(t, dir, victim)
			err = f.Put(put("x"))
			if got, err := os.ReadDir(victim); err != nil || len(got) != 1 {
				t.Errorf("the victim has %v, %v", got, err)
			}
			if got, err := os.ReadFile(victim + "/secret"); err != nil || string(got) != "secret" {
				t.Errorf("%q, %v", got, err)
			}
			if name == "the directory" {
				must(t, err)
				if got, err := os.ReadFile(dir + ".old/file"); err != nil || string(got) != "x" {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
}

// TestPutLeavesNoPart: a power cut takes the whole file or nothing, as its content is synced before it has its name.
func TestPutLeavesNoPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, []byte("old"), 0o600))
	durable.Check(t, func() error {
		f, err := Create(path, true, 0o600)
		if err != nil {
			return err
		}
		return errors.Join(f.Put(put("new")), atomicfile.SyncDir(filepath.Dir(path)))
	})
}

// TestPutAsTheOwner: root makes a file in a directory of another user as that user would.
func TestPutAsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root works with the rights of others")
	}
	top := t.TempDir()
	must(t, os.Chmod(filepath.Dir(top), 0o755)) //nolint:gosec // so that the other user gets there
	must(t, os.Chmod(top, 0o755))               //nolint:gosec // as above
	dir, victim := top+"/foreign", top+"/victim"
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Mkdir(victim, 0o755))
	must(t, os.Symlink(victim, dir+"/out"))
	must(t, os.Chown(dir, another, another))
	if _, err := Create(dir+"/out/file", true, 0o666); err == nil || !strings.Contains(err.Error(), "uid 54321") {
		t.Errorf("root's directory: %v", err)
	}
	must(t, os.WriteFile(victim+"/secret", nil, 0o600))
	if _, err := Read(dir+"/out/secret", nil); err == nil || !strings.Contains(err.Error(), "uid 54321") {
		t.Errorf("root's file was read: %v", err)
	}
	f, err := Create(dir+"/file", false, 0o600)
	must(t, err)
	must(t, f.Put(put("x")))
	var st unix.Stat_t
	must(t, unix.Lstat(dir+"/file", &st))
	if st.Uid != another || fs.FileMode(st.Mode).Perm() != 0o600 {
		t.Errorf("uid %d, mode %o", st.Uid, st.Mode)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}
