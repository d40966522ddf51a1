package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
	"github.com/scidex-ai/scidex-oci/runner/plan"
)

// disk is the check that makes a directory and a file in dir, or in its first parent that exists, and removes them.
func (e *examination) disk(code, dir, cure, works string) check.Check {
	return check.Check{Name: code, Works: works, Do: func(context.Context) (f check.Finding) {
		at, err := existing(dir)
		if err == nil && at != dir && code == codeTmp {
			err = &fs.PathError{Op: "open", Path: dir, Err: unix.ENOENT}
		}
		if err == nil {
			err = write(at)
		}
		if err != nil {
			return check.Finding{Seen: err.Error()}.As(check.Fail, "no run can start: "+works, remedies.Remedy{Sentence: cure, Command: fmt.Sprintf("df -h %[1]s && ls -ld %[1]s", format.ShellQuote(at))})
		}
		var st unix.Statfs_t
		if err := unix.Statfs(at, &st); err != nil {
			return check.Finding{Seen: dir + " can be written to"}
		}
		f.Seen = fmt.Sprintf("%s can be written to: %s, %s free", dir, kind(int64(st.Type)), format.Size(int64(st.Bavail)*st.Bsize))
		switch {
		case e.options.MinFree.Below(&st):
			return f.As(check.Fail, fmt.Sprintf("runs are refused while less than %s is free: %s", plan.FormatFloor(e.options.MinFree), works),
				remedies.Remedy{Sentence: "make room, or lower --min-free", Command: "scidex-oci gc"})
		case code == codeRoot && remote[int64(st.Type)]:
			return f.As(check.Warn, works+", and SQLite's locks need a local file system",
				remedies.Remedy{Sentence: "give a place on a local file system", Command: "scidex-oci --root DIR doctor"})
		}
		return f
	}}
}

// existing returns dir, or its first parent that exists.
func existing(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case err == nil && !info.IsDir():
			return at, &fs.PathError{Op: "open", Path: at, Err: unix.ENOTDIR}
		case err == nil:
			return at, nil
		case !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at):
			return at, err
		}
	}
}

// write makes sure that a directory can hold directories and files.
func write(dir string) (err error) {
	path, err := os.MkdirTemp(dir, ".scidex-oci-doctor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(path)) }()
	f, err := os.OpenFile(filepath.Join(path, "file"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 64<<10))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// kind names common file systems, and others by their number (statfs(2)).
func kind(magic int64) string {
	name, known := map[int64]string{
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.F2FS_SUPER_MAGIC: "f2fs",
		unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.FUSE_SUPER_MAGIC: "fuse", 0x2fc12fc1: "zfs",
		unix.NFS_SUPER_MAGIC: "nfs", unix.V9FS_MAGIC: "9p", unix.CIFS_SUPER_MAGIC: "cifs", unix.SMB2_SUPER_MAGIC: "smb",
	}[magic]
	if !known {
		return fmt.Sprintf("file system %#x", magic)
	}
	return name
}

// remote file systems are those of other hosts.
var remote = map[int64]bool{unix.NFS_SUPER_MAGIC: true, unix.CIFS_SUPER_MAGIC: true, unix.SMB2_SUPER_MAGIC: true, unix.V9FS_MAGIC: true}

// answerTimeout of a database server.
const answerTimeout = 10 * time.Second

func (e *examination) sqlite(ctx context.Context) check.Finding {
	if e.options.PostgreSQL != "" {
		return check.NotNeeded("the catalog is not in SQLite")
	}
	return e.catalog(ctx, remedies.Remedy{Sentence: "give another catalog and blob store", Command: "scidex-oci --root DIR run COMMAND"})
}

func (e *examination) postgres(ctx context.Context) check.Finding {
	url := e.options.PostgreSQL
	if url == "" {
		return check.NotNeeded("the catalog is in SQLite")
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return e.catalog(ctx, remedies.Remedy{Sentence: "make sure that the server answers this", Command: "pg_isready -d " + format.ShellQuote(url)})
}

// catalog opens the caller's catalog and blob store.
func (e *examination) catalog(ctx context.Context, remedy remedies.Remedy) check.Finding {
	seen, err := e.options.Catalog(ctx)
	if err != nil {
		return check.Finding{Seen: err.Error()}.As(check.Fail, "no run can start: it could not be kept", remedy)
	}
	return check.Finding{Seen: seen}
}
