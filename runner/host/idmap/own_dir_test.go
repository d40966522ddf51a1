package idmap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOwnDir: another user must not be able to take the user's locks of ids.
func TestOwnDir(t *testing.T) {
	for name, c := range map[string]struct {
		make func(path string) error
		want string // "" for no error
	}{
		"missing":        {func(string) error { return nil }, ""},
		"private":        {func(path string) error { return os.Mkdir(path, 0o700) }, ""},
		"open to others": {func(path string) error { return os.Mkdir(path, 0o711) }, "others may use it (mode 0711); remove it"},
		"a link":         {func(path string) error { return os.Symlink(".", path) }, "is no directory; remove it"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ids")
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			if err := ownDir(path); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
