package blob

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// Ingest is a directory of the store in which files of one run are made before they become blobs. It is locked while its
// descriptor is open in any process, so that CleanIngests knows that it is in use. It is not for several goroutines.
type Ingest struct {
	store *Store
	path  string
	dir   *os.File
	blobs *os.File // the directory of blobs, locked since the first publication
	dirty bool     // something was published since the last Sync
	// gathered are files that will become blobs, by digest.
	gathered map[string]string
}

// NewIngest makes an ingest directory, ingest/<run>-<random>, for its owner only. The run's name is only for people; it must
// be a plain file name of at most 200 bytes.
func (s *Store) NewIngest(run string) (*Ingest, error) {
	if err := checkName(run); err != nil || len(run) > 200 {
		return nil, fmt.Errorf("ingest: run %q is no plain file name of at most 200 bytes", clip(run))
	}
	gate, err := s.lock(ingestDir, flock.Shared)
	if err != nil {
		return nil, err
	}
	defer gate.Close()
	path := filepath.Join(s.dir, ingestDir, run+"-"+rand.Text())
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	dir, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	if err := flock.Try(dir, flock.Exclusive); err != nil {
		dir.Close()
		return nil, fmt.Errorf("ingest: lock %s: %w", path, err)
	}
	return &Ingest{store: s, path: path, dir: dir}, nil
}

// AdoptIngest takes over the directory of a dead owner by name (Name). It returns ErrOwned if the owner lives, and
// fs.ErrNotExist if nothing is left.
func (s *Store) AdoptIngest(name string) (*Ingest, error) {
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	path := filepath.Join(s.dir, ingestDir, name)
	dir, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	err = flock.Try(dir, flock.Exclusive)
	if errors.Is(err, flock.ErrHeld) {
		err = ErrOwned
	}
	if err != nil {
		dir.Close()
		return nil, fmt.Errorf("ingest: lock %s: %w", path, err)
	}
	return &Ingest{store: s, path: path, dir: dir}, nil
}

// ErrOwned is returned by AdoptIngest for the directory of a living owner.
var ErrOwned = errors.New("its owner lives")

// Name is AdoptIngest's argument.
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

// Create makes a file of the launcher's own, such as a log, to be published under the returned name. The caller closes it.
func (i *Ingest) Create() (name string, f *os.File, err error) {
	name = "own-" + rand.Text()
	f, err = i.CreateAs(name)
	return name, f, err
}

// CreateAs is Create with a given name.
func (i *Ingest) CreateAs(name string) (*os.File, error) {
	flags := unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(int(i.dir.Fd()), name, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ingest: create %q: %w", clip(name), err)
	}
	return os.NewFile(uintptr(fd), filepath.Join(i.path, name)), nil
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
		return fmt.Errorf("%q is no file name", clip(name))
	}
	for _, c := range []byte(name) {
		if c == '/' || c == 0 {
			return fmt.Errorf("%q is no file name", name)
		}
	}
	return nil
}
