package unpack

import (
	"errors"
	"strings"
)

// errName is why the name of an entry is refused.
var (
	errDotDot   = errors.New(`its name has a ".."`)
	errNUL      = errors.New("its name has a NUL")
	errReserved = errors.New(`its name has a directory that begins with ".wh.", which is kept for whiteouts`)
)

// clean returns the name of an entry relative to the root, "" for the root itself. A leading "/" is
// dropped, as tar(1) does; ".." is refused, although it could be held inside, because no honest image
// has it.
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
	if len(steps) > b.Depth {
		return "", beyond("directories in a path", b.Depth)
	}
	return strings.Join(steps, "/"), nil
}

// cut splits a clean name into its directory, "" for the root, and its last part.
func cut(name string) (dir, base string) {
	i := strings.LastIndexByte(name, '/')
	return name[:max(i, 0)], name[i+1:]
}

// join is the opposite of cut.
func join(dir, base string) string {
	if dir == "" {
		return base
	}
	return dir + "/" + base
}
