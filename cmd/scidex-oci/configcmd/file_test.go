package configcmd

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func add(line string) func(string) (string, error) {
	return func(text string) (string, error) { return text + line, nil }
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// onlyFile wants nothing beside a file.
func onlyFile(t *testing.T, path string) {
	t.Helper()
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestChangesAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "config.yaml")
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if err := changeFile(path, add("x")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := mustRead(t, path); got != strings.Repeat("x", 50) {
		t.Errorf("%d of 50 changes are left", len(got))
	}
	onlyFile(t, path)
}

func TestChangeKeepsModeAndLinks(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real", "a.yaml"), filepath.Join(dir, "link.yaml")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("a"), 0o640), os.Chmod(path, 0o640),
		os.Symlink("real/a.yaml", link)); err != nil {
		t.Fatal(err)
	}
	if err := changeFile(link, add("b")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o640 || mustRead(t, path) != "ab" {
		t.Errorf("%v, %v, %q", info.Mode(), err, mustRead(t, path))
	}
	if to, err := os.Readlink(link); err != nil || to != "real/a.yaml" {
		t.Errorf("%q, %v", to, err)
	}
	onlyFile(t, path)
	if err := os.Remove(path); err != nil { // the link leads nowhere now
		t.Fatal(err)
	}
	if err := changeFile(link, add("c")); err != nil || mustRead(t, path) != "c" {
		t.Errorf("through a link to nothing: %v", err)
	}
}

// TestChangeByAMemberOfNoGroup: a user's file may have a group that the user is not in. The thread gives up the right to
// change owners, as setfsuid(2) has it.
func TestChangeByAMemberOfNoGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not covered here: only root can make such a file")
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	const user, group = 4294967, 4294966
	if err := errors.Join(os.WriteFile(path, []byte("a"), 0o600), os.Chown(path, user, group), os.Chmod(path, 0o664), os.Chown(dir, user, group),
		os.Chmod(filepath.Dir(dir), 0o711)); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // and never unlocked: the thread ends with the test
	if err := errors.Join(syscall.Setfsgid(user), syscall.Setfsuid(user)); err != nil {
		t.Fatal(err)
	}
	err := changeFile(path, add("b"))
	if err := errors.Join(syscall.Setfsuid(0), syscall.Setfsgid(0)); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o604 || mustRead(t, path) != "ab" {
		t.Errorf("%v, %v", info, err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != user || stat.Gid != user {
		t.Errorf("%+v", stat)
	}
}

// TestRefusedChanges: an edit that is refused leaves the file, and nothing beside it.
func TestRefusedChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(path, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("no")
	if err := changeFile(path, func(string) (string, error) { return "", refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	if err := changeFile(path, add("")); err != nil {
		t.Error(err)
	}
	if mustRead(t, path) != "a" {
		t.Error("the file was changed")
	}
	onlyFile(t, path)
	if err := changeFile(filepath.Dir(path), add("x")); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
}

// TestKilledBefore: what a killed process left is used again.
func TestKilledBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), ".a.yaml.next"), []byte("half of a longer text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := changeFile(path, add("x")); err != nil || mustRead(t, path) != "x" {
		t.Errorf("%v, %q", err, mustRead(t, path))
	}
	onlyFile(t, path)
}
