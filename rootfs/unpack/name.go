package unpack

import (
	"errors"
	"strings"
)

// Reasons to refuse an entry's name.
var (
	errDotDot   = errors.New(`its name has a ".."`)
	errNUL      = errors.New("its name has a NUL")
	errReserved = errors.New(`its name has a directory that begins with ".wh.", which is kept for whiteouts`)
)

// clean returns an entry's name relative to the root, "" for the root. A leading "/" is dropped, as by tar(1); ".." is
// refused, though it could be confined, because no honest image has it.
func (b Bounds) clean(name string) (string, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return "", errNUL
	}
	if len(name) > b.Path {
		return "", beyond("bytes in a path", b.Path)
	}
	steps := make([]string, 0, 16)
	for step := range strings.SplitSeq(name, "/") {
		switch step {
		case "", ".":
		case "..":
			return "", errDotDot
		default:
			steps = append(steps, step)
		}
	}
	clean := strings.Join(steps, "/")
	return clean, b.depth(clean)
}

// depth bounds a clean path's components.
func (b Bounds) depth(clean string) error {
	if strings.Count(clean, "/") >= b.Depth {
		return beyond("directories in a path", b.Depth)
	}
	return nil
}

// cut splits a clean name into its directory, "" for the root, and its base.
func cut(name string) (dir, base string) {
	i := strings.LastIndexByte(name, '/')
	return name[:max(i, 0)], name[i+1:]
}

// join is the inverse of cut.
func join(dir, base string) string {
	if dir == "" {
		return base
	}
	return dir + "/" + base
}
