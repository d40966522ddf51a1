package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
)

// contents are files, with their SHA-256, and directories, with none, by path.
type contents map[string]string

// at are those of a path and below it.
func (c contents) at(top string) contents {
	some := maps.Clone(c)
	maps.DeleteFunc(some, func(name, _ string) bool { return !covers(top, name) })
	return some
}

func (c contents) remove(top string) {
	maps.DeleteFunc(c, func(name, _ string) bool { return covers(top, name) })
}

func covers(top, name string) bool {
	_, inside := below(top, name)
	return inside || name == top
}

// checkInputs returns an error if the run changed an input that is shown in the output directory. An engine takes the input itself for
// what the run left at its place, since docker would have refused the change, or made it in the input.
func (l layout) checkInputs(o *output, kept *os.Root) error {
	for _, b := range l.into {
		rest, _ := below(l.out.target, b.target)
		now, err := contentsOf(kept, rest)
		if err != nil || !maps.Equal(now, o.inputs.at(rest)) {
			return errors.Join(err, fmt.Errorf("the run changed the input %q, and inputs are read-only, also for InplaceUpdateRequirement", b.target))
		}
	}
	return nil
}

// contentsOf reads a file or directory that a run left; nothing if it is neither, or missing.
func contentsOf(kept *os.Root, top string) (contents, error) {
	all := contents{}
	if info, err := kept.Lstat(top); err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return all, ignoreMissing(err)
	}
	return all, fs.WalkDir(kept.FS(), top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Type().IsRegular():
			all[name], err = digest(kept, name)
			return err
		}
		all[name] = "" // a directory
		if !d.IsDir() {
			all[name] = d.Type().String()
		}
		return nil
	})
}

func digest(kept *os.Root, name string) (string, error) {
	f, err := kept.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
