package killed

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/recovery/pass"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// clean removes the control group and the directory of a location. A directory with an uncommitted result stays.
func clean(ctx context.Context, p *pass.Pass, place workspace.Location) error {
	for _, group := range place.Groups {
		if err := removeGroup(p, group); err != nil {
			return err
		}
	}
	if place.Ended {
		return keepDir(ctx, p, place)
	}
	return removeDir(ctx, p, place)
}

func removeGroup(p *pass.Pass, dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return p.Remove(dir, func() error { return cgroup.RemoveDirs([]string{dir}) })
}

// keepDir makes an uncommitted result readable for the caller, as --keep does.
func keepDir(ctx context.Context, p *pass.Pass, place workspace.Location) error {
	if is, err := workspace.LookInode(place.Dir, place); err != nil || !is {
		return err
	}
	p.Report.Kept = append(p.Report.Kept, place.Dir)
	if p.Dry {
		return nil
	}
	if err := p.Access.Own(ctx, place); err != nil {
		return err
	}
	w, err := workspace.OpenWorkdir(place)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has been done
	}
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Keep(ctx, p.Access.Account, phase.Links(true, true))
}

// removeDir removes a directory that is the recorded inode; one without a recorded inode (the launcher was killed in between)
// only if it is empty and the user's own.
func removeDir(ctx context.Context, p *pass.Pass, place workspace.Location) error {
	var st unix.Stat_t
	if place.Dir == "" {
		return nil
	}
	if err := unix.Lstat(place.Dir, &st); err != nil {
		return workspace.Ignore(&fs.PathError{Op: "lstat", Path: place.Dir, Err: err}, fs.ErrNotExist)
	}
	if place.Ino == 0 && int(st.Uid) == p.Access.Account.UID && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return removeEmpty(p, place.Dir)
	}
	if is, err := workspace.LookInode(place.Dir, place); err != nil || !is {
		return err // nil: somebody else's by now
	}
	return p.Remove(place.Dir, func() error { return p.Access.Remove(ctx, place.Dir, place) })
}

func removeEmpty(p *pass.Pass, dir string) error {
	if p.Dry {
		return nil
	}
	// The launcher may have made /work.
	err := errors.Join(workspace.Ignore(unix.Rmdir(filepath.Join(dir, workspace.WorkName)), unix.ENOENT), unix.Rmdir(dir))
	if errors.Is(err, unix.ENOTEMPTY) {
		return nil
	}
	if err == nil {
		p.Report.Removed = append(p.Report.Removed, dir)
	}
	return err
}
