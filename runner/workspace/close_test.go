package workspace

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// TestCloseReleases: the lock is free after Close, also while a child that was just cloned has a copy of the descriptor, as it does
// until it is executed.
func TestCloseReleases(t *testing.T) {
	root, key := t.TempDir(), catalog.Key{ID: "a", Attempt: 1}
	held, err := Lock(root, key)
	if err != nil {
		t.Fatal(err)
	}
	child, err := unix.Dup(int(held.File.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(child)
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Lock(root, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
