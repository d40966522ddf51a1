package hints

import (
	"os"
	"path/filepath"
)

// unseen reports whether a word names what is on the host and not inside: in the directory of the caller, or by its whole
// path. Of directories it takes only that which an error names: other words are seldom meant.
func (f Facts) unseen(word string) bool {
	path := filepath.Join(f.Caller.Dir, word)
	switch {
	case filepath.IsAbs(word):
		if path = filepath.Clean(word); f.Ended.Analysis.Shows(path) {
			return false
		}
	case !filepath.IsLocal(word) || f.shown(word):
		return false
	}
	return f.inside(path) == "" && (isRegular(path) || filepath.Clean(word) != "." && word == f.sought() && isDirectory(path))
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
