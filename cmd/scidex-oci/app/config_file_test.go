package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func addConfigLine(line string) func(string) (string, error) {
	return func(text string) (string, error) { return text + line, nil }
}

func mustReadConfig(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// onlyConfigFile wants nothing beside a file.
func onlyConfigFile(t *testing.T, path string) {
	t.Helper()
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestConfigChangesAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "config.yaml")
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if err := changeConfigFile(path, addConfigLine("x")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := mustReadConfig(t, path); got != strings.Repeat("x", 50) {
		t.Errorf("%d of 50 changes are left", len(got))
	}
	onlyConfigFile(t, path)
}

func TestConfigKeepsModeAndLinks(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real", "a.yaml"), filepath.Join(dir, "link.yaml")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("a"), 0o640), os.Chmod(path, 0o640),
		os.Symlink("real/a.yaml", link)); err != nil {
		t.Fatal(err)
	}
	if err := changeConfigFile(link, addConfigLine("b")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o640 || mustReadConfig(t, path) != "ab" {
		t.Errorf("%v, %v, %q", info.Mode(), err, mustReadConfig(t, path))
	}
	if to, err := os.Readlink(link); err != nil || to != "real/a.yaml" {
		t.Errorf("%q, %v", to, err)
	}
	onlyConfigFile(t, path)
	if err := os.Remove(path); err != nil { // the link leads nowhere now
		t.Fatal(err)
	}
	if err := changeConfigFile(link, addConfigLine("c")); err != nil || mustReadConfig(t, path) != "c" {
		t.Errorf("through a link to nothing: %v", err)
	}
}

// foreignConfig is a directory of another user, whom the host does not know, with an "a.yaml" that has a group the user is not in.
func foreignConfig(t *testing.T) (dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make such a file")
	}
	top := t.TempDir()
	dir = filepath.Join(top, "foreign")
	const group = configUser - 1
	if err := errors.Join(os.Chmod(filepath.Dir(top), 0o711), os.Chmod(top, 0o711), os.Mkdir(dir, 0o755), os.WriteFile(dir+"/a.yaml", []byte("a"), 0o600),
		os.Chown(dir+"/a.yaml", configUser, group), os.Chmod(dir+"/a.yaml", 0o664), os.Chown(dir, configUser, group)); err != nil {
		t.Fatal(err)
	}
	return dir
}

const configUser, nogroup = 4294967, 65534

// TestChangeByAMemberOfNoGroup: root edits a user's file with that user's rights, as the user would.
func TestConfigChangeByAMemberOfNoGroup(t *testing.T) {
	path := filepath.Join(foreignConfig(t), "a.yaml")
	if err := changeConfigFile(path, addConfigLine("b")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o604 || mustReadConfig(t, path) != "ab" {
		t.Errorf("%v, %v", info, err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != configUser || stat.Gid != nogroup {
		t.Errorf("%+v", stat)
	}
	onlyConfigFile(t, path)
}

// TestChangeOfWhatTheUserMayNot: a user leads root to root's file, by a link, by a second name, or while it edits.
func TestConfigChangeOfWhatTheUserMayNot(t *testing.T) {
	for name, lead := range map[string]func(dir, victim string) error{
		"a link for the file": func(dir, victim string) error {
			return errors.Join(os.Remove(dir+"/a.yaml"), os.Symlink(victim, dir+"/a.yaml"))
		},
		"a link for the next":  func(dir, victim string) error { return os.Symlink(victim, dir+"/.a.yaml.next") },
		"a second name for it": func(dir, victim string) error { return os.Link(victim, dir+"/.a.yaml.next") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := foreignConfig(t)
			victim := filepath.Join(filepath.Dir(dir), "victim")
			if err := errors.Join(os.WriteFile(victim, []byte("root's"), 0o600), lead(dir, victim)); err != nil {
				t.Fatal(err)
			}
			err := changeConfigFile(dir+"/a.yaml", addConfigLine("b"))
			var st syscall.Stat_t
			if failed := syscall.Stat(victim, &st); failed != nil || st.Uid != 0 || st.Mode&0o777 != 0o600 || mustReadConfig(t, victim) != "root's" {
				t.Errorf("root's file has uid %d, mode %o, %v", st.Uid, st.Mode, failed)
			}
			if err == nil {
				t.Error("the file was changed")
			}
		})
	}
	t.Run("the directory is exchanged while it edits", func(t *testing.T) {
		dir := foreignConfig(t)
		victim := t.TempDir()
		err := changeConfigFile(dir+"/a.yaml", func(string) (string, error) {
			return "mine", errors.Join(os.Rename(dir, dir+".old"), os.Symlink(victim, dir))
		})
		if err != nil || mustReadConfig(t, dir+".old/a.yaml") != "mine" {
			t.Error(err)
		}
		if left, err := os.ReadDir(victim); err != nil || len(left) != 0 {
			t.Errorf("%v, %v", left, err)
		}
	})
}

// TestRefusedChanges: an edit that is refused leaves the file, and nothing beside it.
func TestConfigRefusedChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(path, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("no")
	if err := changeConfigFile(path, func(string) (string, error) { return "", refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	if err := changeConfigFile(path, addConfigLine("")); err != nil {
		t.Error(err)
	}
	if mustReadConfig(t, path) != "a" {
		t.Error("the file was changed")
	}
	onlyConfigFile(t, path)
	if err := changeConfigFile(filepath.Dir(path), addConfigLine("x")); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
}

// TestKilledBefore: what a killed process left is used again.
func TestConfigKilledBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), ".a.yaml.next"), []byte("half of a longer text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := changeConfigFile(path, addConfigLine("x")); err != nil || mustReadConfig(t, path) != "x" {
		t.Errorf("%v, %q", err, mustReadConfig(t, path))
	}
	onlyConfigFile(t, path)
}
