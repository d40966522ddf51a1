package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// unfinished begins the name of a directory that receives a run and has not got its name yet. A killed export leaves it; the
// next one of the same run empties it.
const unfinished = ".scidex-export-"

// ExportBelow exports a run to the directory of its id below dir, which appears there when it is whole. A directory that has
// the run whole already stays as it is: wrote is false. Any other that is not empty is refused unless overwrite.
func ExportBelow(ctx context.Context, host *phase.Host, run catalog.Run, dir string, overwrite bool) (wrote bool, err error) {
	target := filepath.Join(dir, run.ID)
	empty, err := isEmpty(target)
	if err != nil {
		return false, err
	}
	if !empty {
		whole, err := holds(ctx, host, run, target)
		switch {
		case whole || err != nil:
			return false, err
		case overwrite:
			return true, Export(ctx, host, run, target, true)
		}
		return false, fmt.Errorf("export to %q: it is not empty, and has not run %q whole; move it away, or use --overwrite", target, run.Key)
	}
	return true, exportNew(ctx, host, run, dir, target)
}

// isEmpty reports whether a directory has no entry, or is not there.
func isEmpty(dir string) (bool, error) {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	_, err = f.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

// exportNew exports to a directory beside the target, and gives it the name.
func exportNew(ctx context.Context, host *phase.Host, run catalog.Run, dir, target string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the caller's umask says who may read it
		return fmt.Errorf("export: %w", err)
	}
	beside := filepath.Join(dir, unfinished+run.ID)
	lock, err := lockEmpty(beside)
	if err != nil {
		return fmt.Errorf("export to %q: %w", target, err)
	}
	defer lock.Close()
	if err := Export(ctx, host, run, beside, false); err != nil {
		return errors.Join(err, os.RemoveAll(beside))
	}
	if err := unix.Rename(beside, target); err != nil { // an empty directory gives way
		return errors.Join(fmt.Errorf("export to %q: %w", target, err), os.RemoveAll(beside))
	}
	return nil
}

// lockEmpty makes a directory, or empties what a killed export left of it. Its lock is held until it is closed.
func lockEmpty(dir string) (*os.File, error) {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // as above
		return nil, err
	}
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := lockNamed(f, dir); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	left, err := f.Readdirnames(-1)
	for _, name := range left {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lockNamed locks a directory that still has its name.
func lockNamed(f *os.File, dir string) error {
	busy := errors.New("another process writes it now; wait for its end")
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return busy
	} else if err != nil {
		return err
	}
	named, err := os.Lstat(dir)
	if err != nil {
		return busy // it was finished meanwhile
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(named, opened) {
		err = busy
	}
	return err
}

// holds reports whether a directory has a run whole: its result, which is written last, and a file of the right size for each
// output.
func holds(ctx context.Context, host *phase.Host, run catalog.Run, dir string) (bool, error) {
	f, err := os.Open(filepath.Join(dir, result.File))
	if err != nil {
		return false, ignoreMissing(err)
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
	whole := true
	err = host.Catalog.Outputs(ctx, run.Key, func(e outputs.Entry) bool {
		if e.Rejected == "" && !reserved(e.Path, report.Statement) {
			info, err := os.Lstat(filepath.Join(dir, string(e.Path)))
			whole = err == nil && info.Mode().IsRegular() && info.Size() == e.Size
		}
		return whole
	})
	return whole, err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
