package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// StateFile is a run's locked state file below the root. It holds the Location; a free lock means that its launcher died. It
// lies outside of everything the analysis reaches.
type StateFile struct {
	Path     string
	File     *os.File
	location Location
}

// ErrLocked says that another process has the lock of a state file.
var ErrLocked = errors.New("a live process holds the run")

// Lock opens a run's state file, creating it where missing, and locks it. It returns ErrLocked where another process has the
// lock.
func Lock(root string, key catalog.Key) (*StateFile, error) {
	t := &StateFile{Path: StatePath(root, key)}
	if err := os.MkdirAll(filepath.Dir(t.Path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(t.Path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	t.File = f
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrLocked
		}
		return nil, errors.Join(err, f.Close())
	}
	// The last holder may have removed the file: a lock on an unlinked file holds nothing.
	named, err := SameFile(f, t.Path)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !named {
		if err := f.Close(); err != nil {
			return nil, err
		}
		return Lock(root, key)
	}
	return t, nil
}

// SameFile reports whether an open file is the one at path.
func SameFile(f *os.File, path string) (bool, error) {
	open, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(open, named), err
}

// Stands reports as an error that the file is not at its name any more, because the root was moved or emptied.
func (t *StateFile) Stands() error {
	named, err := SameFile(t.File, t.Path)
	if err == nil && !named {
		err = fmt.Errorf("the state file %q is gone: the root directory has been moved, emptied or replaced; put it back", t.Path)
	}
	return err
}

// LockWait is Lock for a starting run: gc may have the lock for a moment, because it saw the file and no row.
func LockWait(root string, key catalog.Key) (*StateFile, error) {
	const timeout = time.Second
	for deadline := time.Now().Add(timeout); ; time.Sleep(5 * time.Millisecond) {
		t, err := Lock(root, key)
		if !errors.Is(err, ErrLocked) || time.Now().After(deadline) {
			return t, err
		}
	}
}

// Read returns the recorded Location, or fallback for an empty or damaged file. A directory that was promised to stay holds
// the result of an ended analysis, whatever is recorded.
func (t *StateFile) Read(fallback Location) Location {
	raw, err := os.ReadFile(t.Path)
	if err != nil || json.Unmarshal(raw, &t.location) != nil || t.location.Dir == "" {
		t.location = fallback
	}
	if location, is := isPromised(t.location, os.Geteuid()); is {
		t.location = location
		t.location.Ended, t.location.Promised = true, true
	}
	return t.location
}

// Record writes the Location. It survives the death of every process; after a power cut the catalog's copy and gc's rule for
// empty directories replace it.
func (t *StateFile) Record(p Location) error {
	raw, err := json.Marshal(p)
	if err != nil {
		return err
	}
	t.location = p
	if _, err := t.File.WriteAt(raw, 0); err != nil {
		return fmt.Errorf("record the run's place: %w", err)
	}
	return t.File.Truncate(int64(len(raw)))
}

// Remove removes the state file of a run that has left nothing, and the lock with it. It goes last: by it gc finds what
// could not be removed.
func (t *StateFile) Remove() error {
	err := Ignore(os.Remove(ExitRecordPath(t.Path)), fs.ErrNotExist)
	if err == nil {
		err = Ignore(os.Remove(t.Path), fs.ErrNotExist)
	}
	return errors.Join(err, t.File.Close())
}

// Leave releases the lock, and removes a file that records nothing.
func (t *StateFile) Leave() error {
	if t.Read(Location{}).Dir == "" {
		return t.Remove()
	}
	return t.Close()
}

// Close releases the lock and leaves the file to gc. A child that was just cloned has a copy of the descriptor until it is executed,
// and closing alone would leave the lock to it.
func (t *StateFile) Close() error {
	return errors.Join(unix.Flock(int(t.File.Fd()), unix.LOCK_UN), t.File.Close())
}
