package hints

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// unseen reports whether a word names what is on the host and not inside: in the directory of the caller, or by its whole
// path. Of directories it takes only that which an error names: other words are seldom meant.
func (f Facts) unseen(word string) bool {
	path := filepath.Join(f.Caller.Dir, word)
	switch {
	case filepath.IsAbs(word):
		if path = filepath.Clean(word); f.Ended.Analysis.Shows(path) || f.bound(path) {
			return false
		}
	case !filepath.IsLocal(word) || f.shown(word):
		return false
	}
	return regular(path) || filepath.Clean(word) != "." && word == f.find(noFile) && isDirectory(path)
}

// bound reports whether the analysis sees a path of the host at another one.
func (f Facts) bound(path string) bool {
	return slices.ContainsFunc(bound(f.Ended.Analysis), func(b shownDir) bool {
		return path == b.host || strings.HasPrefix(path, b.host+"/")
	})
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
