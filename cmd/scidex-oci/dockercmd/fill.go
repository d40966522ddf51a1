package dockercmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// seen is the output directory before a run.
type seen struct {
	dir   fs.FileInfo
	files map[string]fs.FileInfo // its regular files, by path
}

// fill copies the inputs that are shown in the output directory into it, and refuses an output directory with anything but files
// and directories: nothing else is copied into a run, and it would be gone in the end.
func (l layout) fill() (seen, error) {
	if l.out == nil {
		return seen{}, nil
	}
	root, err := os.OpenRoot(l.out.source) // no link in it leads a copy out of it
	if err != nil {
		return seen{}, fmt.Errorf("output directory: %w; make it first", err)
	}
	defer root.Close()
	before, err := look(root)
	if err != nil {
		return before, fmt.Errorf("output directory: %w", err)
	}
	if len(l.into) == 0 {
		return before, nil
	}
	for _, b := range l.into { // before anything is copied
		if err := copyable(b.source); err != nil {
			return seen{}, fmt.Errorf("input %q in the output directory: %w", b.source, err)
		}
	}
	for _, b := range l.into {
		rest, _ := below(l.out.target, b.target)
		if err := copyTo(root, b.source, rest); err != nil {
			return seen{}, fmt.Errorf("input %q in the output directory: %w", b.source, err)
		}
	}
	return look(root)
}

// copyable returns why a file or directory cannot be copied into the output directory.
func copyable(source string) error {
	info, err := os.Stat(source)
	if err != nil || info.Mode().IsRegular() {
		return err
	}
	root, err := os.OpenRoot(source)
	if err != nil {
		return err
	}
	defer root.Close()
	_, err = look(root)
	return err
}

// look lists the regular files of a directory that has nothing but files and directories.
func look(root *os.Root) (s seen, err error) {
	s.files = map[string]fs.FileInfo{}
	if s.dir, err = root.Stat("."); err != nil {
		return s, err
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
			return nil
		case err != nil || d.IsDir():
			return err
		case !d.Type().IsRegular():
			return fmt.Errorf("%q is no file and no directory; take it away", filepath.Join(root.Name(), name))
		}
		if info, err := d.Info(); err == nil {
			s.files[name] = info
		}
		return nil
	})
	return s, err
}

// copyTo copies a file or a directory. What is there already as the place of a mount is replaced.
func copyTo(root *os.Root, source, target string) error {
	source, err := filepath.EvalSymlinks(source)
	if err != nil {
		return err
	}
	if err := errors.Join(root.RemoveAll(target), root.MkdirAll(path.Dir(target), 0o777)); err != nil {
		return err
	}
	return filepath.WalkDir(source, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(source, name)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return root.Mkdir(path.Join(target, rest), 0o777)
		case d.Type().IsRegular():
			return copyFile(root, name, path.Join(target, rest))
		}
		return fmt.Errorf("%q is no file and no directory", name)
	})
}

func copyFile(root *os.Root, source, target string) error {
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	to, err := root.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = to.ReadFrom(from)
	return errors.Join(err, to.Close())
}
