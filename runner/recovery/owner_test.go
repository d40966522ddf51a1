package recovery

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// A run whose state file is gone, as after a power cut, is lost, unless it belongs to another machine of the same name.
func TestNamesake(t *testing.T) {
	ours := workspace.MachineID()
	if ours == "" {
		t.Skip("this machine has no machine-id(5), and is told from none")
	}
	root := t.TempDir()
	held := catalog.Key{ID: "held", Attempt: 1}
	if err := os.MkdirAll(filepath.Dir(workspace.StatePath(root, held)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(workspace.StatePath(root, held), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, id, machine string
		want              bool
	}{
		{"another's", "a", "another", true},
		{"ours", "a", ours, false},
		{"of an older version", "a", "", false},
		{"of this root, when it had another id", "held", "another", false},
	} {
		place, err := json.Marshal(workspace.Location{Machine: tt.machine})
		if err != nil {
			t.Fatal(err)
		}
		run := catalog.Run{Key: catalog.Key{ID: tt.id, Attempt: 1}, BootID: "of another start", Place: place}
		if got, err := ofNamesake(root, run); err != nil || got != tt.want {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
	}
}
