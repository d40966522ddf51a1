package slurm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/spooled"
)

// TestSpoolOfAnotherUser: root neither makes nor opens a spool that another user could exchange.
func TestSpoolOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root is refused")
	}
	top := t.TempDir()
	foreign := filepath.Join(top, "foreign")
	if err := errors.Join(os.Mkdir(foreign, 0o755), os.Chown(foreign, 54321, 54321)); err != nil {
		t.Fatal(err)
	}
	lines := []spooled.Line{{Number: 1, ID: "a", Attempt: 1}}
	if _, err := Create(foreign+"/spool", Submission{}, lines); err == nil || !strings.Contains(err.Error(), "uid 54321") {
		t.Errorf("made: %v", err)
	}
	if left, err := os.ReadDir(foreign); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := Create(top+"/spool", Submission{}, lines); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(top + "/spool"); err != nil {
		t.Error(err)
	}
	if err := os.Chown(top+"/spool", 54321, 54321); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(top + "/spool"); err == nil || !strings.Contains(err.Error(), "uid 54321") {
		t.Errorf("opened: %v", err)
	}
}
