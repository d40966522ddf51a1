package canary

import (
	"io/fs"
	"iter"
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

// walk is a walk of a tree that follows no links.
type walk struct {
	entries int64
	partial bool
}

// below yields root and all that is below it, except what is in the directories to skip and what cannot be read: that cannot
// be reached either.
func (w *walk) below(root string, skip []string) iter.Seq2[string, fs.FileMode] {
	return func(yield func(string, fs.FileMode) bool) {
		deadline := time.Now().Add(walkTime)
		for pending := []string{root}; len(pending) > 0; {
			dir := pending[len(pending)-1]
			pending = pending[:len(pending)-1]
			if slices.Contains(skip, dir) {
				continue
			}
			yield(dir, fs.ModeDir)
			for entry := range readDir(dir) {
				if w.partial = w.entries >= walkEntries || time.Now().After(deadline); w.partial {
					return
				}
				w.entries++
				if name := path.Join(dir, entry.Name()); entry.IsDir() {
					pending = append(pending, name)
				} else {
					yield(name, entry.Type())
				}
			}
		}
	}
}

// readDir yields the entries of a directory. It reads them in parts, since the memory of a canary is limited.
func readDir(dir string) iter.Seq[fs.DirEntry] {
	return func(yield func(fs.DirEntry) bool) {
		f, err := os.Open(dir)
		if err != nil {
			return
		}
		defer f.Close()
		for err == nil {
			var entries []fs.DirEntry
			entries, err = f.ReadDir(1024)
			for _, entry := range entries {
				if !yield(entry) {
					return
				}
			}
		}
	}
}
