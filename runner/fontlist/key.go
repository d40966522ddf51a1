package fontlist

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Sources are what a list depends on.
type Sources struct {
	// Root is the directory that the run has as "/", and RootID what identifies its contents; empty: only the directory does.
	Root, RootID string
	Runtime      string // directory of the runtime on the host; empty: none
	Interpreter  string // of the run
}

// below are the directories with fonts, with fontconfig's configuration and with Python's packages: each changes its time
// of modification if a font or a package is added or removed. Below the first ones all directories count.
var (
	fontDirs    = []string{"usr/share/fonts", "usr/local/share/fonts", "share/fonts", "fonts"}
	packageDirs = []string{
		"etc/fonts", "etc/fonts/conf.d", "usr/lib/python3/dist-packages",
		"usr/local/lib/python3*/dist-packages", "usr/local/lib/python3*/site-packages",
		"lib/python3*/site-packages", "lib/python3*/site-packages/matplotlib",
		"usr/lib/python3*/site-packages", "usr/lib/python3/dist-packages/matplotlib",
	}
)

// maxDirs bounds the directories that a key looks at. With more there is no key.
const maxDirs = 2000

// Key names the list for these sources. It changes where fonts, or the packages of Python, change.
func (s Sources) Key() (string, error) {
	k := &key{sum: sha256.New()}
	fmt.Fprintf(k.sum, "%q %q %q %q\n", s.Root, s.RootID, s.Runtime, s.Interpreter)
	for _, top := range []string{s.Root, s.Runtime} {
		if err := k.add(top); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(k.sum.Sum(nil)), nil
}

type key struct {
	sum  hash.Hash
	dirs int
}

func (k *key) add(top string) error {
	if top == "" {
		return nil
	}
	for _, pattern := range packageDirs {
		found, err := filepath.Glob(filepath.Join(top, pattern)) // in order
		if err != nil {
			return err
		}
		for _, dir := range found {
			k.note(dir)
		}
	}
	for _, dir := range fontDirs {
		if err := k.walk(filepath.Join(top, dir)); err != nil {
			return err
		}
	}
	return nil
}

// walk notes all directories below dir.
func (k *key) walk(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read holds no font for the run either
		}
		if !entry.IsDir() {
			return nil
		}
		k.note(path)
		if k.dirs++; k.dirs > maxDirs {
			return fmt.Errorf("%s has more than %d directories", dir, maxDirs)
		}
		return nil
	})
}

// note adds the identity and the times of a file, if it is there.
func (k *key) note(path string) {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return
	}
	fmt.Fprintf(k.sum, "%q %d %d %v %v\n", path, st.Dev, st.Ino, st.Mtim, st.Ctim)
}
