package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
	"github.com/scidex-ai/scidex-oci/internal/regular"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// unfinished begins the name of a directory that receives a run and has not got its name yet. A killed export leaves it; the
// next one of the same run empties it.
const unfinished = ".scidex-export-"

// Below is a directory that receives runs, each in a directory of its id. It is opened when it is named, and made, if it is missing,
// for the first run. It is for one goroutine.
type Below struct {
	near      *userdir.Dir // the directory, or the nearest one above it
	missing   []string     // its names below near
	dir       *userdir.Dir // nil before the first run
	overwrite bool
}

// OpenBelow opens the directory, or the nearest one above it that exists.
func OpenBelow(path string, overwrite bool) (*Below, error) {
	near, missing, err := userdir.Nearest(path)
	if err != nil {
		return nil, fmt.Errorf("export to %q: %w; name another directory", path, userdir.Plain(err))
	}
	if len(missing) > 0 { // else some runs may be there whole, for which nothing is written
		if err := near.Writable(); err != nil {
			return nil, errors.Join(fmt.Errorf("export to %q: %w", path, cannotMake(err)), near.Close())
		}
	}
	return &Below{near: near, missing: missing, overwrite: overwrite}, nil
}

func cannotMake(err error) error {
	return fmt.Errorf("it cannot be made: %w; name a directory that you can write to", userdir.Plain(err))
}

// Close releases the directory.
func (b *Below) Close() error {
	var err error
	if b.dir != nil {
		err = b.dir.Close()
	}
	return errors.Join(err, b.near.Close())
}

// Export exports a run to the directory of its id, which appears when it is whole. A directory that has the run whole already stays
// as it is: wrote is false. Any other that is not empty is refused unless overwrite.
func (b *Below) Export(ctx context.Context, host *phase.Host, run catalog.Run) (wrote bool, left LeftOut, err error) {
	if b.dir == nil {
		if b.dir, err = b.near.MakeAll(b.missing, 0o755); err != nil {
			return false, left, fmt.Errorf("export: %w", err)
		}
	}
	if wrote, left, err = b.export(ctx, host, run, b.dir); err != nil {
		err = fmt.Errorf("export to %q: %w", filepath.Join(b.dir.Path(), run.ID), err)
	}
	return wrote, left, err
}

func (b *Below) export(ctx context.Context, host *phase.Host, run catalog.Run, dir *userdir.Dir) (wrote bool, left LeftOut, err error) {
	own, err := dir.Sub(run.ID)
	if errors.Is(err, fs.ErrNotExist) {
		left, err = exportNew(ctx, host, run, dir)
		return true, left, err
	}
	if err != nil {
		return false, left, err
	}
	target := outputs.NewTarget(own, true)
	defer func() { err = errors.Join(err, target.Close()) }()
	names, err := own.Names(1)
	switch {
	case err != nil:
		return false, left, err
	case len(names) == 0:
		left, err = exportNew(ctx, host, run, dir)
		return true, left, err
	}
	whole, err := holds(ctx, host, run, own)
	switch {
	case whole || err != nil:
		return false, left, err
	case b.overwrite:
		left, err = Export(ctx, host, run, target)
		return true, left, err
	}
	return false, left, fmt.Errorf("it is not empty, and has not run %q whole; move it away, or use --overwrite", run.Key)
}

// exportNew exports to a directory of another name, and gives it that of the run's id.
func exportNew(ctx context.Context, host *phase.Host, run catalog.Run, dir *userdir.Dir) (left LeftOut, err error) {
	name := unfinished + run.ID
	own, lock, err := lockEmpty(ctx, dir, name)
	if err != nil {
		return left, err
	}
	target := outputs.NewTarget(own, false)
	defer func() { err = errors.Join(err, target.Close(), lock.Close()) }()
	if err = OutputsRemoved(run); err == nil {
		left, err = write(ctx, host, run, target)
	}
	if err == nil {
		err = dir.Rename(name, dir, run.ID, 0) // an empty directory gives way
	}
	if err != nil {
		err = errors.Join(err, own.Do(func() error { return outputs.Empty(ctx, lock) }), dir.Remove(name, lock))
	}
	return left, err
}

// lockEmpty makes a directory, or empties what a killed export left of it. Its lock is held until lock is closed.
func lockEmpty(ctx context.Context, dir *userdir.Dir, name string) (own *userdir.Dir, lock *os.File, err error) {
	if own, err = dir.MakeAll([]string{name}, 0o755); err != nil {
		return nil, nil, cannotMake(err)
	}
	if lock, err = own.File(); err != nil {
		return nil, nil, errors.Join(err, own.Close())
	}
	err = lockNamed(dir, name, lock)
	if err == nil {
		err = own.Do(func() error { return outputs.Empty(ctx, lock) })
	}
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close(), own.Close())
	}
	return own, lock, nil
}

// lockNamed locks a directory that still has its name.
func lockNamed(dir *userdir.Dir, name string, f *os.File) error {
	busy := errors.New("another process writes it now; wait for its end")
	if err := flock.Try(f, flock.Exclusive); errors.Is(err, flock.ErrHeld) {
		return busy
	} else if err != nil {
		return err
	}
	named, err := dir.Is(name, f)
	if err == nil && !named { // it was finished in between
		err = busy
	}
	return err
}

// holds reports whether a directory has a run whole: its result, which is written last, and a file of the right size for each
// output.
func holds(ctx context.Context, host *phase.Host, run catalog.Run, dir *userdir.Dir) (bool, error) {
	f, err := dir.Read(result.File)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, regular.ErrIrregular) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	var there struct {
		ID      string `json:"id"`
		Attempt int    `json:"attempt"`
	}
	if json.NewDecoder(f).Decode(&there) != nil || there.ID != run.ID || there.Attempt != run.Attempt {
		return false, nil
	}
	report, err := result.ReportOf(run)
	if err != nil {
		return false, err
	}
	whole, left := true, LeftOut{Signed: report.Statement != nil}
	var failed error
	err = host.Catalog.Outputs(ctx, run.Key, func(e outputs.Entry) bool {
		if e.Rejected == "" && !left.Add(e.Path) {
			st, err := dir.LstatBelow(string(e.Path))
			whole = err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size == e.Size
			if err != nil && !otherEntry(err) {
				failed = err
			}
		}
		return whole
	})
	return whole, errors.Join(err, failed)
}

// otherEntry reports whether a path leads to something else than a file below the directory. The export is only refused for it, or
// written again.
func otherEntry(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EXDEV)
}
