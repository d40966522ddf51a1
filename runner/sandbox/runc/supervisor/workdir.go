package supervisor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
	"github.com/scidex-ai/scidex-oci/runner/host/mountfd"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// workdir is a run's /work.
type workdir struct {
	job     *protocol.Job
	dir     *os.File // /work
	disk    *os.File // working directory if /work is a tmpfs, else nil
	ingest  *os.File
	writers []outputs.Inode // files open for writing when the analysis ended and its processes were killed
}

// prepare prepares /work. It returns the files with the new mount as the first if /work is in memory.
func (w *workdir) prepare(ctx context.Context, files []*os.File) (_ []*os.File, err error) {
	if w.job.WorkTmpfs != nil {
		if files, err = w.inMemory(ctx, files); err != nil {
			return files, err
		}
		files[0] = w.dir
	}
	return files, w.own(ctx)
}

// own gives the working directory and its staged files to the analysis, and makes its links.
func (w *workdir) own(ctx context.Context) error {
	owner, fd := w.job.Owner, int(w.dir.Fd())
	if err := outputs.Own(ctx, w.dir, owner, owner, nil); err != nil {
		return fmt.Errorf("own the working directory: %w", err)
	}
	if err := errors.Join(unix.Fchown(fd, owner, owner), unix.Fchmod(fd, 0o700)); err != nil {
		return fmt.Errorf("own the working directory: %w", err)
	}
	for name, target := range w.job.Links {
		err := unix.Symlinkat(target, fd, name)
		if errors.Is(err, unix.EEXIST) {
			continue // a staged file has the name
		}
		if err == nil {
			err = unix.Fchownat(fd, name, owner, owner, unix.AT_SYMLINK_NOFOLLOW)
		}
		if err != nil {
			return fmt.Errorf("link %q: %w", name, err)
		}
	}
	return nil
}

// inMemory replaces the working directory by a tmpfs, with what was staged there. The tmpfs lives until its last descriptor
// is closed, so at most as long as the supervisor.
func (w *workdir) inMemory(ctx context.Context, files []*os.File) ([]*os.File, error) {
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
	w.disk, w.dir = w.dir, work
	w.job.Files.Work = len(files) - 1
	return files, nil
}

// moveInto moves what was staged on disk.
func (w *workdir) moveInto(ctx context.Context, work *os.File) error {
	left, err := outputs.Carry(ctx, w.dir, work, w.carried())
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%q: %s", outputs.Escape(left[0].Path), left[0].Rejected)
	}
	return outputs.Empty(ctx, w.dir)
}

// carried bounds what is copied into and out of it.
func (w *workdir) carried() outputs.Bounds {
	return outputs.Bounds{MaxEntries: w.job.Bound.Files + int64(len(w.job.Links)), MaxBytes: w.job.Bound.Bytes}
}

// keepOnDisk copies a tmpfs to the working directory on disk, and returns what could not be kept.
func (w *workdir) keepOnDisk(ctx context.Context, dir *os.File) ([]outputs.Entry, error) {
	if w.disk == nil {
		return nil, nil
	}
	return outputs.Carry(ctx, w.dir, dir, w.carried())
}

// countMost bounds the names counted in a /work over its bound.
const countMost = 1_000_000

// most is what measure counts at most.
func (w *workdir) most() outputs.Extent {
	return outputs.Extent{Files: max(countMost, w.job.Bound.Files), Bytes: math.MaxInt64}
}

// measure returns the size of a /work that no longer changes.
func (w *workdir) measure(ctx context.Context) (outputs.Extent, error) {
	size, _, err := outputs.NewRuler(w.dir, w.job.Links, true).Measure(ctx, w.most(), nil)
	return size, err
}

// noSpace reports whether a tmpfs at /work has no block or no inode left.
func (w *workdir) noSpace() (bool, error) {
	if w.disk == nil {
		return false, nil
	}
	var st unix.Statfs_t
	err := freespace.Statfs(w.dir, &st)
	return st.Bfree == 0 || st.Ffree == 0, err
}
