package rootfs

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Spread returns a tree without a Base that shows the same through binds, for runtimes without overlays: in a directory
// that has entries of the tree, or gets mount points later, the entries of the Base are bound one by one. Links and
// small files are copied; FIFOs, sockets and devices are left out.
func (t Tree) Spread(mountPoints ...string) (Tree, error) {
	if t.Base == "" {
		return t, nil
	}
	base, err := os.OpenRoot(t.Base)
	if err != nil {
		return Tree{}, fmt.Errorf("root filesystem: %w", err)
	}
	defer base.Close()
	s := spreading{from: t, to: t, points: mountPoints, base: base}
	s.to.Base, s.to.Hidden = "", nil
	s.to.Links, s.to.Files = slices.Clone(t.Links), slices.Clone(t.Files)
	if err := s.directory("/"); err != nil {
		return Tree{}, fmt.Errorf("root filesystem %s: %w", t.Base, err)
	}
	return s.to, nil
}

// spreading is one call of Spread.
type spreading struct {
	from, to Tree
	points   []string
	base     *os.Root
}

// directory shows a directory of the base, an absolute path in it, that the tree has too.
func (s *spreading) directory(dir string) error {
	entries, err := fs.ReadDir(s.base.FS(), path.Join(".", dir))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		p := path.Join(dir, entry.Name())
		switch {
		case s.taken(p):
		case !s.holds(p):
			err = s.show(p, entry)
		case entry.IsDir():
			err = s.directory(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// taken reports whether the tree has an entry at p, or hides it.
func (s *spreading) taken(p string) bool {
	return slices.Contains(s.from.Hidden, p) ||
		slices.ContainsFunc(s.from.Files, func(f File) bool { return f.Path == p }) ||
		slices.ContainsFunc(s.from.Links, func(l Link) bool { return l.Path == p })
}

// holds reports whether the tree has directory p, or will have.
func (s *spreading) holds(p string) bool {
	return slices.ContainsFunc(s.from.Dirs, func(d Dir) bool { return d.Path == p }) ||
		slices.ContainsFunc(s.points, func(point string) bool { return strings.HasPrefix(point, p+"/") })
}

// show shows an entry of the base in which the tree has nothing.
func (s *spreading) show(p string, entry fs.DirEntry) error {
	name := path.Join(".", p)
	switch kind := entry.Type(); {
	case kind == fs.ModeDir:
		s.to.Binds = append(s.to.Binds, Bind{Source: filepath.Join(s.from.Base, name), Destination: p, IsDir: true})
	case kind == fs.ModeSymlink:
		target, err := s.base.Readlink(name)
		if err != nil {
			return err
		}
		s.to.Links = append(s.to.Links, Link{Path: p, Target: target})
	case kind.IsRegular():
		return s.file(name, p)
	}
	return nil
}

// smallFile bounds the size in bytes of a copied file.
const smallFile = 256 << 10

func (s *spreading) file(name, p string) error {
	f, err := s.base.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var data []byte
	if info.Size() <= smallFile { // it may grow, and some file systems say 0
		if data, err = io.ReadAll(io.LimitReader(f, smallFile+1)); err != nil {
			return err
		}
	}
	if max(info.Size(), int64(len(data))) > smallFile {
		s.to.Binds = append(s.to.Binds, Bind{Source: filepath.Join(s.from.Base, name), Destination: p})
		return nil
	}
	s.to.Files = append(s.to.Files, File{Path: p, Data: data, Mode: info.Mode().Perm() & 0o555})
	return nil
}
