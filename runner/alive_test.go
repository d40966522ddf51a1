package runner

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// A run is alive while somebody holds its state file, wherever that is.
func TestAlive(t *testing.T) {
	root, key := t.TempDir(), catalog.Key{ID: "a", Attempt: 2}
	place, err := json.Marshal(Place{State: statePath(root, key)})
	if err != nil {
		t.Fatal(err)
	}
	run := catalog.Run{Key: key, Place: place}
	if Alive(run) || Alive(catalog.Run{Key: key}) {
		t.Error("alive before there is a state file")
	}
	held, err := hold(root, key)
	if err != nil {
		t.Fatal(err)
	}
	if !Alive(run) {
		t.Error("not alive while it is held")
	}
	if err := held.close(); err != nil {
		t.Fatal(err)
	}
	if Alive(run) {
		t.Error("alive with nobody who holds it")
	}
	again, err := hold(root, key)
	if err != nil {
		t.Fatalf("the look keeps the lock: %v", err)
	}
	if err := again.end(); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(root, "runs", "*")); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
}
