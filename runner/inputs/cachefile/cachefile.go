// Package cachefile keeps cache files: they are replaced as a whole, not synced, and dropped when others have been written
// more recently.
package cachefile

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
	"github.com/scidex-ai/scidex-oci/internal/owned"
	"github.com/scidex-ai/scidex-oci/internal/regular"
)

const (
	// kept is how many files of one directory are kept; the least recently written one goes.
	kept      = 16
	temporary = ".new-"
)

// Open opens a file that only the caller may write, for reading, and returns its size in bytes. Anything else at that path,
// and what is larger than most bytes, is an error.
func Open(path string, most int64) (*os.File, int64, error) {
	file, err := regular.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && (owned.CheckInfo(info, owned.Write) != nil || info.Size() > most) {
		err = fs.ErrInvalid
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// Replace writes a file, with mode 0600, and its directory if missing. It is not synced: the reader detects damage by a
// power cut from the content.
func Replace(path string, write func(io.Writer) error) (err error) {
	file, err := Create(filepath.Dir(path))
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		return errors.Join(err, file.Discard())
	}
	return Publish(file, path)
}

// Create makes a new file in dir, for Publish or Discard.
func Create(dir string) (atomicfile.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return atomicfile.File{}, err
	}
	return atomicfile.Create(filepath.Join(dir, temporary+rand.Text()))
}

// Publish closes a file of Create and gives it its name, in the same directory.
func Publish(created atomicfile.File, path string) error {
	if err := created.Replace(path, atomicfile.Volatile); err != nil {
		return err
	}
	return prune(filepath.Dir(path))
}

// prune removes the oldest files above the limit, and what killed launchers left.
func prune(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	var errs []error
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil: // another launcher has removed it
		case !strings.HasPrefix(e.Name(), temporary):
			files = append(files, info)
		case time.Since(info.ModTime()) > time.Hour:
			errs = append(errs, remove(filepath.Join(dir, e.Name())))
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, info := range files[min(kept, len(files)):] {
		errs = append(errs, remove(filepath.Join(dir, info.Name())))
	}
	return errors.Join(errs...)
}

// remove removes a file that another launcher may have removed.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
