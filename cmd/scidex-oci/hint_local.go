package main

import (
	"os"
	"path/filepath"
	"strings"
)

// local are the arguments of a command that name a file in dir which the analysis does not see: for a hint where the command
// fails.
func local(command []string, dir string) []string {
	var found []string
	for _, word := range command {
		if !filepath.IsLocal(word) || seen(word) {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, word)); err == nil && info.Mode().IsRegular() {
			found = append(found, word)
		}
	}
	return found
}

// seen reports whether a relative path is below a link that /work has.
func seen(name string) bool {
	first, _, deep := cutPath(name)
	return deep && (first == "data" || first == "docs")
}

// cutPath splits a relative path after its first component.
func cutPath(name string) (first, rest string, deep bool) {
	return strings.Cut(filepath.Clean(name), "/")
}
