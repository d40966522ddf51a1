package stores

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSettingsOfRootAreTrusted: no option gives root a place that another user can write.
func TestSettingsOfRootAreTrusted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root is refused")
	}
	const another = 54321
	top := t.TempDir()
	foreign, all := filepath.Join(top, "foreign"), filepath.Join(top, "all")
	if err := errors.Join(os.Mkdir(foreign, 0o755), os.Chown(foreign, another, another), os.Mkdir(all, 0o755), os.Chmod(all, 0o777), os.WriteFile(top+"/theirs.db", nil, 0o600), os.Chown(top+"/theirs.db", another, another)); err != nil {
		t.Fatal(err)
	}
	own := map[string]string{"root": top + "/own", "db": "sqlite://" + top + "/own/a.db", "blobs": "file://" + top + "/own/b", "tmp": "/tmp"}
	if _, err := ReadSettings(globals(own), lookupIn(nil)); err != nil {
		t.Error(err)
	}
	for name, text := range map[string]string{
		"root": foreign + "/new/root", "db": "sqlite://" + foreign + "/a.db", "blobs": "file://" + foreign + "/blobs", "tmp": foreign,
	} {
		for place, want := range map[string]string{foreign: `/foreign" belongs to uid 54321`, all: `/all" can be written by others`} {
			given := map[string]string{"root": top + "/own", name: strings.Replace(text, foreign, place, 1)}
			if _, err := ReadSettings(globals(given), lookupIn(nil)); err == nil || !strings.HasPrefix(err.Error(), "--"+name+` "`) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", given, err, want)
			}
		}
	}
	if _, err := ReadSettings(globals(map[string]string{"root": top + "/own", "db": "sqlite://" + top + "/theirs.db"}), lookupIn(nil)); err == nil {
		t.Error("a catalog of another user was taken")
	}
	if left, err := os.ReadDir(foreign); err != nil || len(left) != 0 {
		t.Errorf("%v, %v: something was touched", left, err)
	}
	if err := makeTrusted(foreign); err == nil { // made by another user since the check
		t.Error("another user's directory was taken")
	}
}
