package cas

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// Ingest is a directory of the store in which the files of one owner are made before they become blobs. It is locked
// while its descriptor is open in any process, so that CleanIngests knows that it is in use. It is not safe for
// concurrent use.
type Ingest struct {
	store *Store
	path  string
	dir   *os.File
	blobs *os.File // the directory of blobs, locked since the first publication
	dirty bool     // something was published since the last Sync
	// gathered are files that will become blobs, by digest.
	gathered map[string]string
}

// NewIngest makes an ingest directory, ingest/<owner>-<random>, for its owner only. The owner's name is only for people; it must
// be a plain file name of at most 200 bytes.
func (s *Store) NewIngest(owner string) (*Ingest, error) {
	if err := checkName(owner); err != nil || len(owner) > 200 {
		return nil, fmt.Errorf("ingest: %.80q is no plain file name of at most 200 bytes", owner)
	}
	gate, err := lock(s.Ingests(), func(f *os.File) error { return flock.Lock(f, flock.Shared) })
	if err != nil {
		return nil, err
	}
	defer gate.Close()
	name := owner + "-" + rand.Text()
	if err := os.Mkdir(filepath.Join(s.Ingests(), name), 0o700); err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	return s.AdoptIngest(name)
}

// TakeIngest takes over the directory of this name with what is in it, or makes it. It waits while the directory has an
// owner, and does not hold the lock of ingest/: if CleanIngests removes the directory first, TakeIngest makes it again.
func (s *Store) TakeIngest(ctx context.Context, name string) (*Ingest, error) {
	return s.ingest(name, func(path string) (*os.File, error) { return flock.MakeDir(ctx, path) })
}

// AdoptIngest takes over the directory of a dead owner by name (Name). It returns ErrOwned if the owner lives, and
// fs.ErrNotExist if nothing is left.
func (s *Store) AdoptIngest(name string) (*Ingest, error) {
	return s.ingest(name, func(path string) (*os.File, error) {
		dir, err := flock.TryDir(path)
		if errors.Is(err, flock.ErrHeld) {
			err = ErrOwned
		}
		return dir, err
	})
}

// ErrOwned is returned by AdoptIngest for the directory of a living owner.
var ErrOwned = errors.New("its owner lives")

func (s *Store) ingest(name string, open func(path string) (*os.File, error)) (*Ingest, error) {
	err := checkName(name)
	path := filepath.Join(s.Ingests(), name)
	var dir *os.File
	if err == nil {
		dir, err = open(path)
	}
	if err != nil {
		return nil, fmt.Errorf("ingest %.80q: %w", name, err)
	}
	return &Ingest{store: s, path: path, dir: dir}, nil
}

// Name is the directory's name, for AdoptIngest.
func (i *Ingest) Name() string { return filepath.Base(i.path) }

// Dir is the directory, for the supervisor to harvest into. The Ingest closes it.
func (i *Ingest) Dir() *os.File { return i.dir }

// Chown gives the directory to the supervisor of a root launcher.
func (i *Ingest) Chown(uid, gid int) error {
	if err := i.dir.Chown(uid, gid); err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	return nil
}

// Create makes a file, such as a log, to be published under the returned name. The caller closes it.
func (i *Ingest) Create() (name string, f *os.File, err error) {
	name = "own-" + rand.Text()
	f, err = i.CreateAs(name)
	return name, f, err
}

// CreateAs is Create with a given name.
func (i *Ingest) CreateAs(name string) (*os.File, error) {
	return i.openFile(name, unix.O_EXCL)
}

// Resume opens a file for writing that an earlier owner may have begun. It is at its start.
func (i *Ingest) Resume(name string) (*os.File, error) {
	f, err := i.openFile(name, unix.O_NONBLOCK)
	if errors.Is(err, unix.EACCES) { // a killed Publish made it read-only; it is no link, which would be ELOOP
		err = unix.Fchmodat(int(i.dir.Fd()), name, 0o600, 0)
		if err == nil {
			f, err = i.openFile(name, unix.O_NONBLOCK)
		}
	}
	return f, err
}

func (i *Ingest) openFile(name string, flags int) (*os.File, error) {
	flags |= unix.O_RDWR | unix.O_CREAT | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(int(i.dir.Fd()), name, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ingest: open %.80q: %w", name, err)
	}
	return os.NewFile(uintptr(fd), filepath.Join(i.path, name)), nil
}

// Put makes a blob of what it reads. If that does not have the digest, the error is ErrCorrupt and no blob has changed.
// It returns its size in bytes. The blob is durable after Sync, as by Publish.
func (i *Ingest) Put(sha256 string, from io.Reader) (int64, error) {
	name, to, err := i.Create()
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(to, NewReader(io.NopCloser(from), sha256))
	if err := errors.Join(err, to.Close()); err != nil {
		return 0, err
	}
	return n, i.Publish(name, sha256)
}

// Scratch makes an unnamed file, for data that the launcher does not hold in memory.
func (i *Ingest) Scratch() (*os.File, error) {
	name, f, err := i.Create()
	if err != nil {
		return nil, err
	}
	if err := unix.Unlinkat(int(i.dir.Fd()), name, 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("ingest: %w", err)
	}
	return f, nil
}

// Close removes the directory with unpublished files, and lets unreferenced blobs be removed again. Call it after the
// commit.
func (i *Ingest) Close() error {
	err := os.RemoveAll(i.path)
	i.Leave()
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	return nil
}

// Leave releases the directory as it is, as a killed owner would.
func (i *Ingest) Leave() {
	if i.blobs != nil {
		i.blobs.Close()
		i.blobs = nil
	}
	i.dir.Close()
}

// checkName accepts one component of a path.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || len(name) > 255 {
		return fmt.Errorf("%.80q is no file name", name)
	}
	for _, c := range []byte(name) {
		if c == '/' || c == 0 {
			return fmt.Errorf("%q is no file name", name)
		}
	}
	return nil
}
