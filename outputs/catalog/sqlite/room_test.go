package sqlite

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestSmallBlocks: on a full file system with small blocks a catalog is full, and ends no process by SIGBUS.
func TestSmallBlocks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, for a file system of its own")
	}
	for _, block := range []int{1024, 2048, 4096} {
		t.Run(strconv.Itoa(block), func(t *testing.T) {
			image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
			command(t, "truncate", "-s", "64M", image)
			command(t, "mkfs.ext4", "-q", "-m", "0", "-b", strconv.Itoa(block), image)
			command(t, "mount", "-o", "loop", image, dir)
			t.Cleanup(func() { command(t, "umount", dir) })
			path := filepath.Join(dir, "catalog.db")
			c, err := Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			_ = exec.Command("dd", "if=/dev/zero", "of="+filepath.Join(dir, "fill"), "bs=1k").Run() // until it is full
			command(t, "truncate", "-s", "-16K", filepath.Join(dir, "fill"))
			command(t, "sync", "-f", dir)
			c, err = Open(t.Context(), path)
			if err == nil {
				err = c.Close()
			}
			if err != nil && !strings.Contains(err.Error(), "full") && !strings.Contains(err.Error(), "no space left") {
				t.Errorf("%v, want that it is full", err)
			}
			if err == nil && block < wholePages {
				t.Error("it was opened where blocks may be missing")
			}
		})
	}
}

func command(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
}
