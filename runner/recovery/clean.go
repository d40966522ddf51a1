package recovery

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// clean removes the control group and the directory of a location. A directory with an uncommitted result stays.
func clean(ctx context.Context, p *pass, location workspace.Location) error {
	for _, group := range location.Groups {
		if err := removeGroup(p, group); err != nil {
			return err
		}
	}
	if location.Ended {
		return keepDir(ctx, p, location)
	}
	return removeDir(ctx, p, location)
}

func removeGroup(p *pass, dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return p.remove(dir, func() error { return cgroup.RemoveDirs([]string{dir}) })
}

// keepDir makes an uncommitted result readable for the caller, as --keep does.
func keepDir(ctx context.Context, p *pass, location workspace.Location) error {
	if is, err := workspace.LookInode(location.Dir, location); err != nil || !is {
		return err
	}
	p.report.Kept = append(p.report.Kept, location.Dir)
	if p.dry {
		return nil
	}
	if err := p.access.own(ctx, location); err != nil {
		return err
	}
	w, err := workspace.OpenWorkdir(location)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has been done
	}
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Keep(ctx, p.access.account, phase.Links(true, true))
}

// removeDir removes a directory that is the recorded inode; one without a recorded inode (the launcher was killed in between)
// only if it is empty and the user's own.
func removeDir(ctx context.Context, p *pass, location workspace.Location) error {
	var st unix.Stat_t
	if location.Dir == "" {
		return nil
	}
	if err := unix.Lstat(location.Dir, &st); err != nil {
		return workspace.Ignore(&fs.PathError{Op: "lstat", Path: location.Dir, Err: err}, fs.ErrNotExist)
	}
	if location.Ino == 0 && int(st.Uid) == p.access.account.UID && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return removeEmpty(p, location.Dir)
	}
	if is, err := workspace.LookInode(location.Dir, location); err != nil || !is {
		return err // nil: another's by now
	}
	return p.remove(location.Dir, func() error { return p.access.remove(ctx, location.Dir, location) })
}

func removeEmpty(p *pass, dir string) error {
	if p.dry {
		return nil
	}
	// The launcher may have made /work.
	err := errors.Join(workspace.Ignore(unix.Rmdir(filepath.Join(dir, workspace.WorkName)), unix.ENOENT), unix.Rmdir(dir))
	if errors.Is(err, unix.ENOTEMPTY) {
		return nil
	}
	if err == nil {
		p.report.Removed = append(p.report.Removed, dir)
	}
	return err
}
