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
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
	"github.com/scidex-ai/scidex-oci/runner/plan"
)

// checkStorage checks the directories of runs and of outputs, and the catalog.
func (e *examination) checkStorage(ctx context.Context) {
	e.disk(CodeRoot, e.options.Root, "give another place with --root DIR", "outputs and catalog are kept here")
	e.disk(CodeTmp, e.options.Tmp, "give another place with --tmp DIR", "working directories of runs are made here")
	e.catalog(ctx)
}

// disk makes a directory and a file in dir, or in its first parent that exists, and removes them.
func (e *examination) disk(code, dir, cure, works string) {
	at, err := existing(dir)
	if err == nil && at != dir && code == CodeTmp {
		err = &fs.PathError{Op: "open", Path: dir, Err: unix.ENOENT}
	}
	f := Finding{Code: code, Status: Fail, Means: "no run can start: " + works, Cure: cure, Command: "df -h " + at + " && ls -ld " + at}
	if err == nil {
		err = write(at)
	}
	if err != nil {
		f.Seen = err.Error()
		e.add(f)
		return
	}
	e.add(e.judgeDisk(code, dir, at, works))
}

func (e *examination) judgeDisk(code, dir, at, works string) Finding {
	f := Finding{Code: code, Status: OK, Means: works}
	var st unix.Statfs_t
	if err := unix.Statfs(at, &st); err != nil {
		f.Seen = dir + " can be written to"
		return f
	}
	free := int64(st.Bavail) * st.Bsize
	f.Seen = fmt.Sprintf("%s can be written to: %s, %s free", dir, kind(int64(st.Type)), format.Size(free))
	switch {
	case e.options.MinFree.Below(&st):
		return f.as(Fail, fmt.Sprintf("runs are refused while less than %s is free: %s", plan.FormatFloor(e.options.MinFree), works),
			remedies.Remedy{Sentence: "make room, or lower --min-free", Command: "scidex-oci gc"})
	case code == CodeRoot && remote[int64(st.Type)]:
		return f.as(Warn, works+", and SQLite's locks need a local file system",
			remedies.Remedy{Sentence: "give a place on a local file system", Command: "scidex-oci --root DIR doctor"})
	}
	return f
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

// catalog opens the caller's catalog and blob store.
func (e *examination) catalog(ctx context.Context) {
	f := Finding{
		Code: CodeCatalog, Status: OK, Means: "runs and their outputs are kept",
		Cure: "give another catalog and blob store", Command: "scidex-oci --root DIR run COMMAND",
	}
	if url := e.options.PostgreSQL; url != "" {
		e.needless(CodeCatalog, "the catalog is not in SQLite")
		f.Code, f.Cure, f.Command = CodePostgreSQL, "make sure that the server answers this", "pg_isready -d '"+url+"'"
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, answerTimeout)
		defer cancel()
	} else {
		defer e.needless(CodePostgreSQL, "the catalog is in SQLite")
	}
	seen, err := e.options.Catalog(ctx)
	if f.Seen = seen; err != nil {
		f.Status, f.Seen, f.Means = Fail, err.Error(), "no run can start: it could not be kept"
	} else {
		f.Cure, f.Command = "", ""
	}
	e.add(f)
}
