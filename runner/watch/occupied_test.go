package watch

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// A run is in the way while somebody holds its state file, wherever that is, and its directory is the one that we would have.
func TestOccupies(t *testing.T) {
	root, key := t.TempDir(), catalog.Key{ID: "a", Attempt: 2}
	r := &phase.Host{Tmp: "/tmp"}
	location, err := json.Marshal(workspace.Location{State: workspace.StatePath(root, key), Dir: "/tmp/scidex-analysis-a"})
	if err != nil {
		t.Fatal(err)
	}
	run := catalog.Run{Key: key, Place: location}
	if Occupies(r, run) || Occupies(r, catalog.Run{Key: key}) {
		t.Error("alive before there is a state file")
	}
	held, err := workspace.Lock(root, key)
	if err != nil {
		t.Fatal(err)
	}
	if !Occupies(r, run) {
		t.Error("not alive while it is held")
	}
	if elsewhere := (&phase.Host{Tmp: "/var/tmp"}); Occupies(elsewhere, run) {
		t.Error("in the way of who has another directory")
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if Occupies(r, run) {
		t.Error("alive with nobody who holds it")
	}
	again, err := workspace.Lock(root, key)
	if err != nil {
		t.Fatalf("the look keeps the lock: %v", err)
	}
	if err := again.Remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(root, "runs", "*")); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
}
