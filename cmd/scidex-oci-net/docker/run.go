package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// run runs an analysis as docker run runs a container.
func (f front) run(ctx context.Context, args []string) (err error) {
	c, err := parse(args)
	if err != nil {
		return err
	}
	l, err := c.sort()
	if err != nil {
		return err
	}
	if c.id == "" {
		if c.id, err = runflags.NewID(); err != nil {
			return err
		}
	}
	line, err := f.line(c, l)
	if err != nil {
		return err
	}
	out, err := f.fill(ctx, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	id, err := c.writeID()
	if err != nil {
		return errors.Join(err, out.undo(ctx))
	}
	defer func() { err = errors.Join(err, id.close()) }()
	ended := f.call(line...)
	if !command.Silent(ended) { // nothing was run
		return errors.Join(ended, id.remove(), out.undo(ctx))
	}
	return cmp.Or(f.finish(ctx, c.id, l, out, ended), ended)
}

// fill fills the output directory with what passes the checks of what is bound.
func (f front) fill(ctx context.Context, l layout) (out *output, err error) {
	if len(l.into) == 0 {
		return l.fill(ctx, nil)
	}
	st, err := f.OpenStores(ctx, f.Stderr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return l.fill(ctx, plan.Copied(st.Host).Check)
}

// line is the command line of scidex-oci run.
func (f front) line(c *container, l layout) ([]string, error) {
	image, err := f.find(c.image)
	if err != nil {
		return nil, err
	}
	line := append([]string{"run", "--quiet", "--id=" + c.id, "--rootfs=" + image.root, "--data=none", "--docs=none"}, c.flags...)
	workdir := c.workdir
	if l.out != nil {
		line = append(line, "--stage="+l.out.source, "--keep=always")
		workdir = l.out.target
	}
	if workdir != "" && workdir != "/work" {
		line = append(line, "--workdir="+workdir)
	}
	for _, b := range l.inputs {
		line = append(line, "--input="+b.source+":"+b.target)
	}
	if !c.noNetwork {
		for _, host := range strings.Fields(f.Env.Text("SCIDEX_OCI_DOCKER_HOSTS")) {
			line = append(line, "--allow-host="+host)
		}
	}
	return append(append(line, "--"), c.words(image)...), nil
}

// words are the command, as docker makes it of an image and a command line.
func (c *container) words(image found) []string {
	switch {
	case c.entrypoint != nil:
		return slices.Concat(c.entrypoint, c.command)
	case len(c.command) == 0:
		return slices.Concat(image.entrypoint, image.command)
	}
	return slices.Concat(image.entrypoint, c.command)
}

// idFile is the file of --cidfile, which stays open, so that no other file is removed instead. Nil: there is none.
type idFile struct {
	dir  *userdir.Dir
	name string
	file *os.File
}

// writeID writes the id to the file of --cidfile, which must be new.
func (c *container) writeID() (*idFile, error) {
	if c.cidfile == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	dir, name, err := userdir.Parent(c.cidfile)
	if err != nil {
		return nil, fmt.Errorf("--cidfile: %w", userdir.NoParent("file", c.cidfile, err))
	}
	file, err := dir.Exclusive(name, 0o666) // the caller's umask says who may read it
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%q exists already; name another file", c.cidfile)
	} else if err != nil {
		err = userdir.CannotMake("file", c.cidfile, err)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--cidfile: %w", err), dir.Close())
	}
	id := &idFile{dir, name, file}
	if _, err := file.WriteString(c.id); err != nil {
		return nil, errors.Join(fmt.Errorf("--cidfile: %w", err), id.remove(), id.close())
	}
	return id, nil
}

// remove removes it, as docker does if it made no container.
func (i *idFile) remove() error {
	if i == nil {
		return nil
	}
	return i.dir.Remove(i.name, i.file)
}

func (i *idFile) close() error {
	if i == nil {
		return nil
	}
	return errors.Join(i.file.Close(), i.dir.Close())
}

// finish puts back what the run left.
func (f front) finish(ctx context.Context, id string, l layout, out *output, ended error) error {
	res, err := f.result(ctx, id)
	if err != nil {
		return fmt.Errorf("nothing is put back of run %s: %w", id, err)
	}
	f.tell(res)
	if l.out == nil || res.Kept == "" {
		return nil
	}
	if err := f.putBack(ctx, l, out, res.Kept, ended); err != nil {
		return fmt.Errorf("put back into %q: %w; all that run %s left is in %q", l.out.source, err, id, res.Kept)
	}
	return nil
}

func (f front) putBack(ctx context.Context, l layout, out *output, dir string, ended error) error {
	kept, err := userdir.Open(dir)
	if err != nil {
		return err
	}
	defer kept.Close()
	root, err := kept.Root()
	if err != nil {
		return err
	}
	defer root.Close()
	left, err := l.sift(root)
	for _, one := range left {
		f.say(one)
	}
	if err == nil && ended == nil {
		err = l.checkInputs(out, root)
	}
	if err != nil {
		return err
	}
	return out.takePlace(ctx, kept)
}

// tell prints the hints: a quiet run prints none.
func (f front) tell(res result.Result) {
	for _, hint := range res.Hints {
		f.say(hint.Message)
	}
}

func (f front) say(line string) { fmt.Fprintf(f.Stderr, "scidex-oci: %s\n", screen.Escape(line)) }

func (f front) result(ctx context.Context, id string) (res result.Result, err error) {
	st, err := f.OpenStores(ctx, f.Stderr)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	run, err := watch.FindWhole(ctx, st.Host, id)
	if err != nil {
		return res, err
	}
	return watch.Show(ctx, st.Host, run)
}
