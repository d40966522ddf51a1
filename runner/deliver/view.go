package deliver

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// view is a directory of copies of a run's outputs: whatever a hook does to them, the blobs stay unchanged.
type view struct {
	path string
	dir  *os.File // its lock tells gc that it is in use
}

// viewsDir is the directory of views: on the file system of the blobs, which may be able to share their data.
func viewsDir(root string) string { return filepath.Join(root, "post-process") }

// openView copies the outputs of a run, read-only by mode and verified. Remove it.
func openView(ctx context.Context, host *phase.Host, key catalog.Key) (_ *view, err error) {
	if err := os.MkdirAll(viewsDir(host.Root), 0o700); err != nil {
		return nil, err
	}
	v := &view{path: filepath.Join(viewsDir(host.Root), key.String())}
	if v.dir, err = lockdir.Make(v.path); err != nil {
		return nil, err
	}
	err = outputs.Empty(ctx, v.dir) // what a killed launcher left
	if err == nil {
		err = fillView(ctx, host, key, v)
	}
	if err == nil {
		err = outputs.Protect(ctx, v.dir)
	}
	if err != nil {
		return nil, errors.Join(err, v.remove(ctx))
	}
	return v, nil
}

func fillView(ctx context.Context, host *phase.Host, key catalog.Key, v *view) (err error) {
	target, err := outputs.OpenTarget(v.path, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	var failed error
	err = host.Catalog.Outputs(ctx, key, func(e outputs.Entry) bool {
		if e.Rejected == "" {
			failed = putCopy(ctx, target, host.Blobs, e)
		}
		return failed == nil
	})
	return errors.Join(err, failed)
}

func putCopy(ctx context.Context, target *outputs.Target, blobs *blob.Store, e outputs.Entry) (err error) {
	verified, err := blobs.Open(ctx, e.SHA256)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, verified.Close()) }()
	path, err := blobs.Path(e.SHA256)
	if err != nil {
		return err
	}
	source, err := os.Open(path)
	if blobs.Shared() && errors.Is(err, fs.ErrNotExist) {
		return target.Put(e.Path, fs.FileMode(e.Mode), verified)
	}
	if err != nil {
		return err
	}
	defer source.Close()
	return target.Put(e.Path, fs.FileMode(e.Mode), cloned{verified, source})
}

// cloned is a blob that is read, or shared if the file system can (FICLONE, ioctl_ficlonerange(2)); it is verified in
// either case.
type cloned struct {
	io.Reader
	source *os.File
}

// WriteTo is called by io.Copy.
func (c cloned) WriteTo(w io.Writer) (int64, error) {
	if f, ok := w.(*os.File); ok && unix.IoctlFileClone(int(f.Fd()), int(c.source.Fd())) == nil {
		return io.Copy(io.Discard, c.Reader)
	}
	return io.Copy(w, c.Reader)
}

// remove removes the copies, whatever the hook did to them.
func (v *view) remove(ctx context.Context) error {
	err := outputs.Empty(ctx, v.dir)
	if err == nil {
		err = os.Remove(v.path)
	}
	return errors.Join(err, v.dir.Close())
}
