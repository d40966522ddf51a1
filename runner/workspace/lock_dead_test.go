package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// LockDead takes the lock of what is surely left by a dead run, and touches nothing else.
func TestLockDead(t *testing.T) {
	key := catalog.Key{ID: "a", Attempt: 1}
	write := func(content string) func(path string) error {
		return func(path string) error { return os.WriteFile(path, []byte(content), 0o600) }
	}
	for name, tt := range map[string]struct {
		make func(path string) error
		dead bool
	}{
		"nothing":         {func(string) error { return nil }, false},
		"of a beginning":  {write(""), false},
		"left":            {write(`{"dir":"/tmp/x"}`), true},
		"damaged":         {write("x"), true},
		"a symbolic link": {func(path string) error { return os.Symlink(filepath.Dir(path), path) }, false},
		"another user's": {func(path string) error {
			if os.Geteuid() != 0 {
				return os.WriteFile(path, []byte("x"), 0) // as unreadable as one
			}
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				return err
			}
			return os.Lchown(path, 65534, 65534)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.Mkdir(filepath.Join(root, "runs"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := tt.make(StatePath(root, key)); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Lstat(StatePath(root, key))
			held, err := LockDead(root, key, os.Geteuid())
			if held == nil == tt.dead || err != nil && name != "a symbolic link" {
				t.Fatalf("%v, %v", held, err)
			}
			if after, _ := os.Lstat(StatePath(root, key)); (before == nil) != (after == nil) {
				t.Errorf("before %v, after %v", before, after)
			}
			if held == nil {
				return
			}
			if other, err := LockDead(root, key, os.Geteuid()); other != nil || err != nil {
				t.Errorf("a second one gets %v, %v", other, err)
			}
			if err := held.Remove(); err != nil {
				t.Error(err)
			}
		})
	}
}
