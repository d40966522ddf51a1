package inode

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestTimely(t *testing.T) {
	for kind, want := range map[int64]bool{
		unix.EXT4_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true, unix.NFS_SUPER_MAGIC: false, unix.FUSE_SUPER_MAGIC: false,
		unix.OVERLAYFS_SUPER_MAGIC: false, unix.PROC_SUPER_MAGIC: false, 0: false,
	} {
		if Timely(&unix.Statfs_t{Type: kind}) != want {
			t.Errorf("%#x: %v", kind, !want)
		}
	}
}
