package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/inodes"
)

// How BEGIN locks: goose reads before it writes, so its transactions lock at once.
const (
	lockDeferred  = "deferred"
	lockImmediate = "immediate"
	lockExclusive = "exclusive"
)

// dsn returns the data source name of an absolute path. A file URI may hold any byte; SQLite undoes
// the escapes (sqlite.org/uri.html).
func dsn(absolute, lock string) string {
	query := url.Values{
		"mode":          {"rw"}, // prepareFile made it, with its mode
		"_busy_timeout": {strconv.FormatInt(timeout.Milliseconds(), 10)},
		"_foreign_keys": {"on"},
		"_synchronous":  {"EXTRA"}, // FULL, and a rollback journal is gone for good when a commit returns
		"_txlock":       {lock},
	}
	if lock == lockExclusive {
		query.Set("_locking_mode", "EXCLUSIVE")
	}
	return (&url.URL{Scheme: "file", Path: absolute, RawQuery: query.Encode()}).String()
}

// prepareFile makes a missing file, refuses what cannot be a catalog, and returns the absolute path.
//
// It never opens the file: closing a descriptor of it would drop the locks of other handles of this process (fcntl(2),
// sqlite.org/howtocorrupt.html).
func prepareFile(path string) (string, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return "", errors.New("this cannot be the name of a file; name one")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := checkLength(absolute); err != nil {
		return "", err
	}
	if err := makeFile(absolute); err != nil {
		return "", inodes.Explain(err)
	}
	info, err := os.Stat(absolute)
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", errors.New("this is a directory; name a file in it")
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("this is no regular file (%s); name another", info.Mode().Type())
	}
	return absolute, checkWritable(absolute)
}

// maxPath is the longest path in bytes that SQLite opens: MAX_PATHNAME of its os_unix.c, less what it adds for its journal.
const maxPath = 504

// checkLength refuses a path that is too long for SQLite, which only says that it cannot be opened.
func checkLength(absolute string) error {
	resolved := absolute
	if dir, err := filepath.EvalSymlinks(filepath.Dir(absolute)); err == nil {
		resolved = filepath.Join(dir, filepath.Base(absolute))
	}
	if len(resolved) > maxPath {
		return fmt.Errorf("its path has %d bytes, and SQLite takes at most %d; give a shorter one with --root or --db", len(resolved), maxPath)
	}
	return nil
}

// makeFile makes an empty file of mode 0600, which is a valid empty database.
func makeFile(absolute string) error {
	dir := filepath.Dir(absolute)
	err := unix.Mknod(absolute, unix.S_IFREG|0o600, 0)
	switch {
	case err == nil, errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("its directory %q does not exist; make it first", dir)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		// An existing file is judged by its own permissions.
		if _, statErr := os.Stat(absolute); statErr == nil {
			return nil
		}
		return fmt.Errorf("a file cannot be made in %q (%w); choose another directory or make this one writable", dir, err)
	default:
		return fmt.Errorf("make the file: %w", &fs.PathError{Op: "mknod", Path: absolute, Err: err})
	}
}

// checkWritable checks the file and its directory, where SQLite keeps the write-ahead log.
func checkWritable(absolute string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, absolute, unix.R_OK|unix.W_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("the file cannot be written (%w); make it readable and writable for you or choose another", err)
	}
	dir := filepath.Dir(absolute)
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("its directory %q cannot be written (%w), and SQLite keeps its log there; make it writable or choose another", dir, err)
	}
	return nil
}
