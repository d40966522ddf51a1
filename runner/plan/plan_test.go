package plan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/inputs"
	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

func TestOwnPlacesArePrivate(t *testing.T) {
	r := &phase.Host{Root: "/root", Private: []string{"/else/catalog.db"}, Tmp: "/tmp/runs", DatabaseHosts: []string{"/sockets"}}
	h := private(r, 1234)
	if !slices.Equal(h.Private, []string{"/root", "/else/catalog.db"}) || h.Tmp != r.Tmp || !slices.Equal(h.DatabaseHosts, r.DatabaseHosts) || h.UID != 1234 {
		t.Errorf("got %+v", h)
	}
}

func TestCheckTmp(t *testing.T) {
	for path, want := range map[string]string{
		t.TempDir():     "",
		"/etc/passwd":   `--tmp "/etc/passwd" is not a directory; give one`,
		"/etc/passwd/a": `--tmp "/etc/passwd/a" is not a directory; give one`,
		"/no/such/dir":  `--tmp "/no/such/dir" does not exist; make it, or give another directory`,
	} {
		if got := fmt.Sprint(checkTmp(path)); got != want && (want != "" || got != "<nil>") {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestRecordable(t *testing.T) {
	if err := recordable("--tmp", "/tmp/größe/日本"); err != nil {
		t.Error(err)
	}
	const want = `--tmp "/tmp/a\xff" is not UTF-8, so it cannot be recorded: rename or recode it, or give another directory`
	if err := recordable("--tmp", "/tmp/a\xff"); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// TestStageHasTheRightsOfItsOwner: a user who puts a link in the place of a directory shows a run of root's nothing more.
func TestStageHasTheRightsOfItsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root works with the rights of others")
	}
	top := t.TempDir()
	foreign, secret := filepath.Join(top, "foreign"), filepath.Join(top, "secret")
	link := filepath.Join(foreign, "stage")
	if err := errors.Join(os.Mkdir(foreign, 0o755), os.Mkdir(secret, 0o700), os.Symlink(secret, link), os.Chown(foreign, 54321, 54321)); err != nil {
		t.Fatal(err)
	}
	o := inputs.Opener{Boundary: func() (*binds.Boundary, error) { return &binds.Boundary{}, nil }}
	if f, err := openStage(link, o); !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v, %v", f, err)
	}
	stage, err := openStage(foreign, o)
	if err != nil {
		t.Fatal(err)
	}
	_ = stage.Close()
}
