package plan

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/rootfs/image"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// imported makes a runner with the image "small", of one file.
func imported(t *testing.T) *phase.Host {
	t.Helper()
	r := &phase.Host{Root: t.TempDir()}
	var file bytes.Buffer
	w := tar.NewWriter(&file)
	content := []byte("whole")
	err := errors.Join(
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "etc/", Mode: 0o755}),
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "etc/file", Mode: 0o644, Size: int64(len(content))}))
	_, written := w.Write(content)
	path := filepath.Join(t.TempDir(), "root.tar")
	if err := errors.Join(err, written, w.Close(), os.WriteFile(path, file.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	store, err := image.Open(filepath.Join(r.Root, ImagesDir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Import(t.Context(), path, image.Options{Name: "small"}); err != nil {
		t.Fatal(err)
	}
	return r
}

func openBase(t *testing.T, r *phase.Host) *Base {
	t.Helper()
	b, err := OpenImage(t.Context(), r, "small")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// spoil changes the file of a root, and returns the inode that it is shown from.
func (b *Base) spoil(t *testing.T) (ino uint64) {
	t.Helper()
	b.check.stop()
	if err := os.WriteFile(filepath.Join(b.Image.Dir, "etc/file"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.check = checkRoot(t.Context(), b.Image)
	if err := b.Sound(); !errors.Is(err, image.ErrDamaged) {
		t.Fatalf("damage: %v", err)
	}
	return b.Bind.Ino
}

// TestRepair: a damaged root is made anew before the start, and what is shown then is the new one.
func TestRepair(t *testing.T) {
	b := openBase(t, imported(t))
	if err := b.Sound(); err != nil {
		t.Fatal(err)
	}
	if repaired, err := b.Repair(t.Context()); repaired || err != nil {
		t.Fatalf("of a whole one: %v, %v", repaired, err)
	}
	before := b.spoil(t)
	if repaired, err := b.Repair(t.Context()); !repaired || err != nil {
		t.Fatalf("%v, %v", repaired, err)
	}
	if err := b.Sound(); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(b.Image.Dir, "etc/file")); string(data) != "whole" {
		t.Errorf("%q, %v", data, err)
	}
	info, err := b.File.Stat()
	there, statErr := os.Stat(b.Image.Dir)
	if err := errors.Join(err, statErr); err != nil || !os.SameFile(info, there) || b.Bind.Ino == before {
		t.Errorf("what is shown is not the new root: %v", err)
	}
}

// TestRepairInUse: what others use is not exchanged, and the start refused.
func TestRepairInUse(t *testing.T) {
	r := imported(t)
	b, other := openBase(t, r), openBase(t, r)
	before := b.spoil(t)
	repaired, err := b.Repair(t.Context())
	if repaired || !errors.Is(err, image.ErrDamaged) || !errors.Is(err, image.ErrInUse) {
		t.Errorf("%v, %v", repaired, err)
	}
	if err := b.Aftercare(t.Context(), b.check.damage); !errors.Is(err, image.ErrInUse) {
		t.Errorf("afterwards: %v", err)
	}
	info, err := os.Stat(other.Image.Dir)
	shown, statErr := b.File.Stat()
	if err := errors.Join(err, statErr); err != nil || !os.SameFile(info, shown) || b.Bind.Ino != before {
		t.Errorf("it was exchanged: %v", err)
	}
}

// TestAftercare: the run that finds damage too late leaves a whole root to the next one.
func TestAftercare(t *testing.T) {
	r := imported(t)
	b := openBase(t, r)
	b.spoil(t)
	err := b.Aftercare(t.Context(), b.check.damage)
	if !errors.Is(err, image.ErrDamaged) || !strings.Contains(err.Error(), "run this again") {
		t.Errorf("%v", err)
	}
	if err := openBase(t, r).Sound(); err != nil {
		t.Errorf("the next: %v", err)
	}
	if other := errors.New("other"); !errors.Is(b.Aftercare(t.Context(), other), other) {
		t.Error("it says something else than what happened")
	}
	if err := (*Base)(nil).Aftercare(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
