package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
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
func Lock(root string, key catalog.Key) (*StateFile, error) { return lock(root, key, 0) }

// LockWait is Lock for a starting run: gc may have the lock for a moment, because it saw the file and no row.
func LockWait(root string, key catalog.Key) (*StateFile, error) { return lock(root, key, time.Second) }

//nolint:contextcheck // it ends soon, and is needed also to clean up after the caller's context has ended
func lock(root string, key catalog.Key, within time.Duration) (*StateFile, error) {
	t := &StateFile{Path: StatePath(root, key)}
	if err := os.MkdirAll(filepath.Dir(t.Path), 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), within, ErrLocked)
	defer cancel()
	f, err := flock.Open(ctx, t.Path, unix.O_RDWR|unix.O_CREAT, 0o600, flock.Exclusive)
	if err != nil {
		return nil, err
	}
	t.File = f
	return t, nil
}

// CheckReplaced returns an error if the file no longer has its name, because the root was moved or emptied.
func (t *StateFile) CheckReplaced() error {
	named, err := flock.Named(t.File, t.Path)
	if err == nil && !named {
		err = fmt.Errorf("the state file %q is gone: the root directory has been moved, emptied or replaced; put it back", t.Path)
	}
	return err
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

// Close releases the lock and leaves the file to gc.
func (t *StateFile) Close() error { return flock.Release(t.File) }
