package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// unharvested is a note of a directory that stays because its harvest failed. It is counted for as long as the directory is
// there.
type unharvested struct {
	Location Location `json:"location"`
	Bytes    int64    `json:"bytes"` // of /work at the end of the analysis
}

// Unharvested are the kept directories of runs whose harvest failed.
type Unharvested struct {
	Dirs  int
	Bytes int64
	Last  string // one of them
}

func unharvestedDir(root string) string { return filepath.Join(root, "unharvested") }

// NoteUnharvested notes that the directory of a run stays because its harvest failed, and how many bytes /work has.
func NoteUnharvested(root string, key catalog.Key, location Location, bytes int64) error {
	text, err := json.Marshal(unharvested{location, bytes})
	if err == nil {
		err = os.MkdirAll(unharvestedDir(root), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(unharvestedDir(root), key.String()), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("note the directory of a failed harvest: %w", err)
	}
	return nil
}

// ReadUnharvested counts them, and removes the notes of those that are gone. A note that cannot be read counts as one.
func ReadUnharvested(root string) (all Unharvested, err error) {
	notes, err := os.ReadDir(unharvestedDir(root))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return all, fmt.Errorf("count the directories of failed harvests: %w", err)
	}
	for _, note := range notes {
		key, ok := ParseKey(note.Name())
		if !ok {
			continue // not one of scidex-oci's
		}
		path := filepath.Join(unharvestedDir(root), note.Name())
		var u unharvested
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another command has removed it
		}
		if err == nil && json.Unmarshal(text, &u) == nil {
			dir, err := keptAt(u.Location, key.Attempt)
			if err == nil && dir == "" {
				_ = os.Remove(path) // else the next one does
				continue
			}
			all.Last = dir
		}
		all.Dirs++
		all.Bytes += u.Bytes
	}
	return all, nil
}

// keptAt returns where the directory of an attempt is now, "" if it is gone.
func keptAt(location Location, attempt int) (string, error) {
	for _, path := range []string{location.Dir, AsidePath(location.Dir, attempt)} {
		is, err := LookInode(path, location)
		if is || err != nil {
			return path, err
		}
	}
	return "", nil
}
