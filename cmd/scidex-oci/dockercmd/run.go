package dockercmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// run runs an analysis as docker run runs a container.
func (f front) run(ctx context.Context, args []string) error {
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
	before, err := l.fill()
	if err != nil {
		return err
	}
	if err := c.writeID(); err != nil {
		return err
	}
	ended := f.call(line...)
	if !command.Silent(ended) { // nothing was run
		return errors.Join(ended, c.removeID())
	}
	return cmp.Or(f.finish(ctx, c.id, l, before, ended), ended)
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

// writeID writes the id to the file of --cidfile, which must be new.
func (c *container) writeID() error {
	if c.cidfile == "" {
		return nil
	}
	file, err := os.OpenFile(c.cidfile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // the caller's umask says who may read it
	if err != nil {
		return fmt.Errorf("--cidfile: %w", err)
	}
	_, err = file.WriteString(c.id)
	return errors.Join(err, file.Close())
}

// removeID removes the file of --cidfile, as docker does where there is no container.
func (c *container) removeID() error {
	if c.cidfile == "" {
		return nil
	}
	return os.Remove(c.cidfile)
}

// finish puts back what the run left.
func (f front) finish(ctx context.Context, id string, l layout, before seen, ended error) error {
	res, err := f.result(ctx, id)
	if err != nil {
		return fmt.Errorf("nothing is put back of run %s: %w", id, err)
	}
	f.tell(res, ended)
	if l.out == nil || res.Kept == "" {
		return nil
	}
	left, err := l.sift(res.Kept)
	for _, one := range left {
		f.say(one)
	}
	if err == nil && ended == nil {
		err = l.checkInputs(res.Kept)
	}
	if err == nil {
		err = before.takePlace(ctx, res.Kept, l.out.source)
	}
	if err != nil {
		return fmt.Errorf("put back into %q: %w; all that run %s left is in %q", l.out.source, err, id, res.Kept)
	}
	return nil
}

// tell says on standard error why a run did not end well by its own exit code, where the run itself, which is quiet, has not, and the
// hints.
func (f front) tell(res result.Result, ended error) {
	if ended != nil && res.Reason != result.ReasonExit && res.State != catalog.Error && res.Message != "" {
		f.say(res.Message)
	}
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
	run, err := st.FindWhole(ctx, id)
	if err != nil {
		return res, err
	}
	return watch.Show(ctx, st.Host, run)
}
