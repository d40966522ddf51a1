package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

// check refuses an open file or directory that must not be shown to a run.
type check func(flag string, f *os.File) error

// fill opens the output directory, and copies the inputs into it that are shown in it. What is refused leaves nothing there.
func (l layout) fill(ctx context.Context, allowed check) (*output, error) {
	if l.out == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	o, err := openOutput(ctx, l.out.source)
	if err != nil {
		return nil, err
	}
	for _, b := range l.into {
		rest, _ := below(l.out.target, b.target)
		if err = o.copy(ctx, b.source, rest, allowed); err != nil {
			err = fmt.Errorf("input %q in the output directory: %w", b.source, err)
			break
		}
	}
	if err == nil && len(l.into) > 0 {
		err = o.look()
	}
	if err != nil {
		return nil, errors.Join(err, o.undo(ctx), o.close())
	}
	return o, nil
}

// undo removes what was copied, but for what had its place before.
func (o *output) undo(ctx context.Context) (err error) {
	if o == nil {
		return nil
	}
	for _, at := range o.made {
		err = errors.Join(err, o.in(at, func(d *userdir.Dir, name string) error { return remove(ctx, d, name) }))
	}
	return err
}

// copy copies a file or a directory. What is there already as the place of a mount is replaced.
func (o *output) copy(ctx context.Context, source, target string, allowed check) error {
	dir, file, err := openSource(source)
	if err != nil {
		return err
	}
	defer file.Close()
	if dir != nil {
		defer dir.Close()
	}
	if err := allowed("--volume", file); err != nil {
		return err
	}
	o.note(target)
	if err := o.in(target, func(d *userdir.Dir, name string) error { return remove(ctx, d, name) }); err != nil {
		return err
	}
	o.inputs.remove(target)
	if dir == nil {
		return o.put(file, target)
	}
	if err := o.mkdir(target); err != nil {
		return err
	}
	return walk(dir, target, func(in *userdir.Dir, name, at string, st unix.Stat_t) error {
		switch {
		case directory(st):
			return o.mkdir(at)
		case !regular(st):
			return fmt.Errorf("%q is no file and no directory", filepath.Join(in.Path(), name))
		}
		f, err := in.Read(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := allowed("--volume", f); err != nil {
			return err
		}
		return o.put(f, at)
	})
}

// openSource opens a file, or a directory and that for reading. Links to it are followed, as for what is bound.
func openSource(source string) (dir *userdir.Dir, f *os.File, err error) {
	if dir, err = userdir.Open(source); err == nil {
		if f, err = dir.File(); err != nil {
			return nil, nil, errors.Join(err, dir.Close())
		}
		return dir, f, nil
	}
	if !errors.Is(err, unix.ENOTDIR) {
		return nil, nil, err
	}
	above, name, err := userdir.ParentOfTarget(source)
	if err != nil {
		return nil, nil, err
	}
	defer above.Close()
	f, err = above.Read(name)
	return nil, f, err
}

// note notes the topmost part of a path that is not there yet.
func (o *output) note(target string) {
	at := ""
	for name := range strings.SplitSeq(target, "/") {
		at = path.Join(at, name)
		if _, there := o.before[at]; !there {
			o.made = append(o.made, at)
			return
		}
	}
}

func (o *output) mkdir(at string) error {
	o.inputs[at] = ""
	return o.in(at, func(d *userdir.Dir, name string) error {
		made, err := d.Mkdir(name, 0o777)
		if err != nil {
			return err
		}
		return made.Close()
	})
}

// put copies an open file.
func (o *output) put(from *os.File, at string) error {
	info, err := from.Stat()
	if err != nil {
		return err
	}
	return o.in(at, func(d *userdir.Dir, name string) error {
		to, err := d.Exclusive(name, info.Mode().Perm()|0o200)
		if err != nil {
			return err
		}
		sum := sha256.New()
		_, err = io.Copy(io.MultiWriter(to, sum), from)
		o.inputs[at] = hex.EncodeToString(sum.Sum(nil))
		return errors.Join(err, to.Close())
	})
}
