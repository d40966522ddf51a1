package recovery

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// TestAdoptIngest: the supervisor of a killed launcher, which ends a moment later, is waited for, and a launcher that lives is not.
func TestAdoptIngest(t *testing.T) {
	const hang = 2 * time.Minute
	root, key := t.TempDir(), catalog.Key{ID: "a", Attempt: 1}
	blobs, err := blob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &pass{Host: &phase.Host{Root: root, Blobs: blobs}}
	owned, err := blobs.NewIngest(key.ID)
	if err != nil {
		t.Fatal(err)
	}
	supervisor, err := unix.Dup(int(owned.Dir().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	name := owned.Name()
	owned.Leave()
	launcher, err := workspace.Lock(root, key)
	if err == nil {
		err = launcher.Record(workspace.Location{Dir: "/tmp/a"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := adoptIngest(p, key, name, hang); !errors.Is(err, cas.ErrOwned) {
		t.Errorf("of a launcher that lives: %v", err)
	}
	if err := launcher.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := adoptIngest(p, key, name, 0); !errors.Is(err, cas.ErrOwned) {
		t.Errorf("without a wait: %v", err)
	}
	time.AfterFunc(20*time.Millisecond, func() { unix.Close(supervisor) })
	ingest, err := adoptIngest(p, key, name, hang)
	if err != nil {
		t.Fatalf("once the supervisor has ended: %v", err)
	}
	ingest.Leave()
}
