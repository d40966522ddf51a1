package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
	"github.com/scidex-ai/scidex-oci/runner/host/mountfd"
)

// workInMemory replaces the working directory by a tmpfs, with what was staged there. The tmpfs lives until its last
// descriptor is closed, so at most as long as the supervisor.
func (w *worker) workInMemory(ctx context.Context, files []*os.File) ([]*os.File, error) {
	mount, err := mountfd.New("tmpfs", mountfd.ReadWrite, w.job.WorkTmpfs)
	if err != nil {
		return files, fmt.Errorf("tmpfs for /work: %w", err)
	}
	files = append(files, mount)
	fd, err := unix.Openat(int(mount.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return files, fmt.Errorf("tmpfs for /work: %w", err)
	}
	work := os.NewFile(uintptr(fd), "/work")
	if err := w.moveInto(ctx, work); err != nil {
		return files, errors.Join(fmt.Errorf("stage into the tmpfs at /work: %w", err), work.Close())
	}
	w.disk, w.work = w.work, work
	w.job.WorkMount = len(files) - 1
	return files, nil
}

// moveInto moves what was staged on disk.
func (w *worker) moveInto(ctx context.Context, work *os.File) error {
	left, err := outputs.Carry(ctx, w.work, work, w.carried())
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%q: %s", outputs.Escape(left[0].Path), left[0].Rejected)
	}
	return outputs.Empty(ctx, w.work)
}

// carried bounds what is copied into and out of it.
func (w *worker) carried() outputs.Bounds {
	return outputs.Bounds{MaxEntries: w.job.Bound.Files + int64(len(w.job.Links)), MaxBytes: w.job.Bound.Bytes}
}

// keepOnDisk copies a tmpfs to the working directory on disk, and returns what could not be kept.
func (w *worker) keepOnDisk(ctx context.Context, dir *os.File) ([]outputs.Entry, error) {
	if w.disk == nil {
		return nil, nil
	}
	return outputs.Carry(ctx, w.work, dir, w.carried())
}

// noSpace reports whether a tmpfs at /work has no block or no inode left.
func (w *worker) noSpace() (bool, error) {
	if w.disk == nil {
		return false, nil
	}
	var st unix.Statfs_t
	err := freespace.Statfs(w.work, &st)
	return st.Bfree == 0 || st.Ffree == 0, err
}
