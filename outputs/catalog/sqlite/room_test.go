package sqlite

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	sqlite3 "github.com/mattn/go-sqlite3"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// fullFS mounts an ext4 with a catalog and a file that leaves free KiB.
func fullFS(t *testing.T, block, free int) (path string, fill func()) {
	t.Helper()
	image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
	command(t, "truncate", "-s", "16M", image)
	command(t, "mkfs.ext4", "-q", "-m", "0", "-b", strconv.Itoa(block), image)
	command(t, "mount", "-o", "loop", image, dir)
	t.Cleanup(func() { command(t, "umount", dir) })
	path = filepath.Join(dir, "catalog.db")
	c, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return path, func() {
		_ = exec.Command("dd", "if=/dev/zero", "of="+filepath.Join(dir, "fill"), "bs=1k").Run() // until it is full
		command(t, "truncate", "-s", "-"+strconv.Itoa(free)+"K", filepath.Join(dir, "fill"))
		command(t, "sync", "-f", dir)
	}
}

// TestSmallBlocks: on a full file system, whatever its blocks, a catalog is full and ends no process by SIGBUS. It is read where
// SQLite's index has room, 32 KiB, or is there already.
func TestSmallBlocks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, for a file system of its own")
	}
	for _, block := range []int{1024, 2048, 4096} {
		for free, want := range map[int]bool{0: false, 16: false, 64: true} {
			t.Run(strconv.Itoa(block)+" with "+strconv.Itoa(free)+" KiB", func(t *testing.T) {
				path, fill := fullFS(t, block, free)
				fill()
				err := readFrom(t, path)
				if opened := err == nil; opened != want || !opened && (!strings.Contains(err.Error(), "the file system is full") || !catalog.MayPass(err)) {
					t.Errorf("%v, want that it is read: %v", err, want)
				}
			})
		}
		t.Run(strconv.Itoa(block)+" in use", func(t *testing.T) {
			path, fill := fullFS(t, block, 0)
			used, err := Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer used.Close()
			fill()
			if err := readFrom(t, path); err != nil {
				t.Error(err)
			}
		})
	}
}

func readFrom(t *testing.T, path string) error {
	t.Helper()
	c, err := Open(t.Context(), path)
	if err != nil {
		return err
	}
	_, err = c.CatalogID(t.Context())
	return errors.Join(err, c.Close())
}

// TestHolesOfOthers: an index that another program has made may have holes, for which there must be room.
func TestHolesOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, for a file system of its own")
	}
	for block, full := range map[int]bool{1024: true, 4096: false} {
		path, fill := fullFS(t, block, 16)
		command(t, "truncate", "-s", "32K", path+"-shm")
		fill()
		var e sqlite3.Error
		if err := roomToOpen(path); (errors.As(err, &e) && e.Code == sqlite3.ErrFull) != full {
			t.Errorf("blocks of %d: %v, want that it is full: %v", block, err, full)
		}
	}
}

func command(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
}
