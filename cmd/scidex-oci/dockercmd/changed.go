package dockercmd

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// checkInputs returns an error where the run changed an input that is shown in the output directory. An engine takes the input itself for
// what the run left at its place, since docker would have refused the change, or made it in the input.
func (l layout) checkInputs(kept string) error {
	for _, b := range l.into {
		rest, _ := below(l.out.target, b.target)
		if same, err := sameTree(b.source, filepath.Join(kept, rest)); err != nil || !same {
			return errors.Join(err, fmt.Errorf("the run changed the input %q, and inputs are read-only, also for InplaceUpdateRequirement", b.target))
		}
	}
	return nil
}

// sameTree reports whether a file or directory of a run is as its source is.
func sameTree(source, kept string) (bool, error) {
	source, err := filepath.EvalSymlinks(source)
	if err != nil {
		return false, err
	}
	all, err := entries(source)
	if err != nil {
		return false, err
	}
	left, err := entries(kept)
	if err != nil || len(all) != len(left) {
		return false, ignoreMissing(err)
	}
	for name, mode := range all {
		if left[name] != mode || mode.IsRegular() && !sameContents(filepath.Join(source, name), filepath.Join(kept, name)) {
			return false, nil
		}
	}
	return true, nil
}

// entries are the types of all below a file or directory, by path.
func entries(top string) (map[string]fs.FileMode, error) {
	all := map[string]fs.FileMode{}
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(top, name)
		all[rest] = d.Type()
		return err
	})
	return all, err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
