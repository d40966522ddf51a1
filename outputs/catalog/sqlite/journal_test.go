package sqlite

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/catalogtest"
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

// TestSmallBlocks: on a full file system, whatever its block size, the error is that it is full, and no process dies of
// SIGBUS. With small blocks the catalog can always be read; with larger ones if SQLite's index has room, 32 KiB, or
// exists.
func TestSmallBlocks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, for a file system of its own")
	}
	for _, block := range []int{1024, 2048, 4096} {
		for free, want := range map[int]bool{0: block < indexPage, 16: block < indexPage, 64: true} {
			t.Run(strconv.Itoa(block)+" with "+strconv.Itoa(free)+" KiB", func(t *testing.T) {
				path, fill := fullFS(t, block, free)
				fill()
				err := readFrom(t, path)
				if opened := err == nil; opened != want || !opened && !saysFull(err) {
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
			for i := range 100 { // the log of larger blocks may have room for some
				if err = used.Create(t.Context(), sample(strconv.Itoa(i))); err != nil {
					break
				}
			}
			if err == nil || !saysFull(err) {
				t.Errorf("a write to a full one: %v", err)
			}
		})
	}
}

func saysFull(err error) bool {
	return strings.Contains(err.Error(), "the file system is full") && catalog.IsTransient(err)
}

// TestLeavesLog: a catalog with a log, which an earlier version has left on small blocks, gets a rollback journal when
// there is room, and no process dies when there is less.
func TestLeavesLog(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, for a file system of its own")
	}
	for _, free := range []int{0, 9, 12} {
		path, fill := fullFS(t, 1024, free)
		c := opened(t, path)
		must(t, c.Create(t.Context(), sample("a")))
		must(t, c.Close())
		execute(t, path, `PRAGMA journal_mode = WAL`)
		fill()
		if err := readFrom(t, path); err != nil && !saysFull(err) {
			t.Errorf("with %d KiB free: %v", free, err)
		}
		must(t, os.Remove(filepath.Join(filepath.Dir(path), "fill")))
		c = opened(t, path)
		for pragma, want := range map[string]string{"journal_mode": rollingBack, "synchronous": "3"} {
			var got string
			must(t, c.db.QueryRowContext(t.Context(), `PRAGMA `+pragma).Scan(&got))
			if got != want {
				t.Errorf("PRAGMA %s = %s, want %s", pragma, got, want)
			}
		}
		must(t, second(c.Get(t.Context(), catalog.Key{ID: "a"})))
		must(t, c.Close())
	}
}

// TestConformanceOnSmallBlocks is TestConformance with a rollback journal.
func TestConformanceOnSmallBlocks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, for a file system of its own")
	}
	image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
	command(t, "truncate", "-s", "512M", image)
	command(t, "mkfs.ext4", "-q", "-b", "1024", image)
	command(t, "mount", "-o", "loop", image, dir)
	t.Cleanup(func() { command(t, "umount", dir) })
	small := suite()
	small.Fresh = func(t *testing.T) string {
		below, err := os.MkdirTemp(dir, "")
		must(t, err)
		return filepath.Join(below, "catalog.db")
	}
	catalogtest.Run(t, small)
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

func command(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
}
