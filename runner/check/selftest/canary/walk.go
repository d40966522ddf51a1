package canary

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"
)

// Bounds of a walk, beyond which it is partial.
const (
	walkEntries = 5_000_000
	walkTime    = time.Minute
)

// walker walks a tree without following links.
type walker struct {
	skip     []string // directories
	entries  int64
	deadline time.Time
}

func newWalker(skip []string) *walker {
	return &walker{skip: skip, deadline: time.Now().Add(walkTime)}
}

var errBound = errors.New("too much to look at")

// walk calls dir for root and every directory below, and entry for all other files; each may be nil.
func (w *walker) walk(root string, dir func(path string), entry func(path string, kind fs.FileMode)) (partial bool) {
	for pending := []string{root}; len(pending) > 0; {
		at := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if slices.Contains(w.skip, at) {
			continue
		}
		if dir != nil {
			dir(at)
		}
		below, err := w.list(at, entry)
		if errors.Is(err, errBound) {
			return true
		}
		pending = append(pending, below...) // what cannot be read cannot be reached
	}
	return false
}

func (w *walker) list(at string, entry func(path string, kind fs.FileMode)) (dirs []string, err error) {
	f, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(1024)
		for _, e := range entries {
			name := path.Join(at, e.Name())
			if e.IsDir() {
				dirs = append(dirs, name)
			} else if entry != nil {
				entry(name, e.Type())
			}
		}
		if w.entries += int64(len(entries)); w.entries > walkEntries || time.Now().After(w.deadline) {
			return dirs, errBound
		}
		if errors.Is(err, io.EOF) {
			return dirs, nil
		}
		if err != nil {
			return dirs, err
		}
	}
}
