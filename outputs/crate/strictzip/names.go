package strictzip

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

func (e *entry) isDir() bool { return strings.HasSuffix(e.name, "/") }

// checkNames refuses names that tools change or refuse, and two for one place.
func checkNames(entries []entry) error {
	files := map[string]bool{} // by path; false: a directory
	for _, e := range entries {
		if err := e.checkName(); err != nil {
			return fmt.Errorf("%q: %w", e.name, err)
		}
		path := strings.TrimSuffix(e.name, "/")
		if _, twice := files[path]; twice {
			return fmt.Errorf("%q is there more than once", path)
		}
		files[path] = !e.isDir()
	}
	for path := range files {
		for i := range path {
			if path[i] == '/' && files[path[:i]] {
				return fmt.Errorf("%q is a file and a directory", path[:i])
			}
		}
	}
	return nil
}

func (e *entry) checkName() error {
	name := e.name
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }):
		return errors.New("its name has a backslash, a control character or what is not UTF-8")
	case e.flags&flagUTF8 == 0 && strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }):
		return errors.New("its name is not marked as UTF-8")
	case len(name) > 1 && name[1] == ':':
		return errors.New("its name begins with a drive")
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		if part == "" || part == "." || part == ".." {
			return errors.New("its name is absolute, or has an empty part, '.' or '..'")
		}
	}
	return nil
}
