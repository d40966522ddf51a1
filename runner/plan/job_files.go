package plan

import (
	"errors"
	"os"
)

// jobFiles are the descriptors sent with a job; those from mounts on are the job's alone.
type jobFiles struct {
	All    []*os.File
	mounts int
}

func (f *jobFiles) add(mount *os.File) int {
	f.All = append(f.All, mount)
	return len(f.All) - 1
}

func (f jobFiles) CloseMounts() error {
	var errs []error
	for _, m := range f.All[f.mounts:] {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}
