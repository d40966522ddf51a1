package mountfd

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
)

// TestAttachBelowFollowsNoLink has links in an image's root where something is to be mounted.
func TestAttachBelowFollowsNoLink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root mounts here; the attacks of the end-to-end suite try images with links in every tier")
	}
	root, elsewhere := t.TempDir(), t.TempDir()
	for _, dir := range []string{"home", "plain"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"tmp": elsewhere, "home/analysis": "../plain", "up": ".."} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for below, want := range map[string]error{
		"/tmp": unix.ELOOP, "/home/analysis": unix.ELOOP, "/up": unix.ELOOP, "/../x": unix.EXDEV, "/none": unix.ENOENT, "/plain": nil,
	} {
		mount, err := New("tmpfs", ReadWrite, []string{"size=4096"})
		if err != nil {
			t.Fatal(err)
		}
		err = AttachBelow(root, below, mount)
		if err == nil {
			t.Cleanup(func() {
				if err := Unmount(filepath.Join(root, below)); err != nil {
					t.Error(err)
				}
			})
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", below, err, want)
		}
		mount.Close()
	}
}

func TestNewMount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root mounts here; TestWorkTmpfs of the end-to-end suite does in every tier")
	}
	options := []string{"size=1048576", "nr_inodes=3", "mode=0700", "uid=12", "gid=13"}
	mount, err := New("tmpfs", ReadWrite, options)
	if err != nil {
		t.Fatal(err)
	}
	defer mount.Close()
	var fs unix.Statfs_t
	var st unix.Stat_t
	if err := freespace.Statfs(mount, &fs); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fstat(int(mount.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if int64(fs.Blocks)*fs.Bsize != 1<<20 || fs.Files != 3 || st.Uid != 12 || st.Gid != 13 || st.Mode&0o777 != 0o700 {
		t.Errorf("%+v, %+v", fs, st)
	}
	if fs.Flags&unix.ST_NOSUID == 0 || fs.Flags&unix.ST_NODEV == 0 {
		t.Errorf("flags %#x", fs.Flags)
	}
	if _, err := New("tmpfs", ReadWrite, slices.Concat(options, []string{"nonsense=1"})); err == nil {
		t.Error("an option that there is not was taken")
	}
}
