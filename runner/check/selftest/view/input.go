package view

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Input is a file or directory of the host that a run sees.
type Input struct {
	Source, Inside string
	Dir            bool
	File           string // a regular file in a directory, relative; empty where none was found
	before         times  // of the source
}

// isInput tells the caller's inputs from mounts of the root filesystem and /work, over which no input can be bound.
func isInput(destination string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(destination, "/"), "/")
	switch first {
	case "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "dev", "work":
		return false
	}
	return true
}

// NewInput looks at a file or directory of the host that a run sees inside.
func NewInput(source, inside string) Input {
	in := Input{Source: source, Inside: inside, before: timesOf(source)}
	info, err := os.Stat(source)
	in.Dir = err == nil && info.IsDir()
	if in.Dir {
		in.File = findFile(source)
	}
	return in
}

// findFile finds a regular file among the first entries of a tree. Its path is relative to dir.
func findFile(dir string) (found string) {
	const most = 1000 // entries
	seen := 0
	_ = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		seen++
		switch {
		case seen > most:
			return filepath.SkipAll
		case err != nil:
			return filepath.SkipDir
		case entry.Type().IsRegular():
			if rel, err := filepath.Rel(dir, name); err == nil && isText(rel) {
				found = rel
				return filepath.SkipAll
			}
		}
		return nil
	})
	return found
}

// isText reports whether JSON can hold a name.
func isText(name string) bool { return strings.ToValidUTF8(name, "") == name }

// Changed reports whether the source has changed.
func (in Input) Changed() bool { return timesOf(in.Source) != in.before }

// times of a file in nanoseconds; 0 where they cannot be read.
type times struct{ modified, changed int64 }

func timesOf(path string) times {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return times{}
	}
	return times{modified: st.Mtim.Nano(), changed: st.Ctim.Nano()}
}
