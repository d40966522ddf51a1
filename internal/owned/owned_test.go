package owned_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/internal/owned"
)

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		mode, closed fs.FileMode
		want         string // "" for no error
	}{
		"private":                {0o600, owned.Use, ""},
		"read by the group":      {0o640, owned.Use, "others may use it (mode 0640)"},
		"executed by all":        {0o601, owned.Use, "others may use it (mode 0601)"},
		"read by all":            {0o644, owned.Write, ""},
		"written by the group":   {0o620, owned.Write, "others may write to it (mode 0620)"},
		"written by all":         {0o602, owned.Write, "others may write to it (mode 0602)"},
		"written, nothing asked": {0o666, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := create(t)
			if err := f.Chmod(c.mode); err != nil {
				t.Fatal(err)
			}
			if err := owned.Check(f, c.closed); c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestCheckRefusesOwner: the owner is checked even if nothing is closed to others.
func TestCheckRefusesOwner(t *testing.T) {
	f, err := os.Open("/") // root's
	if os.Geteuid() == 0 {
		f = create(t)
		err = f.Chown(1, -1)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := owned.Check(f, 0); err == nil || !strings.Contains(err.Error(), "does not belong to the calling user") {
		t.Error(err)
	}
	if err := errors.Join(f.Close(), owned.Check(f, 0)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a closed file: %v", err)
	}
}

func create(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
