package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/rootfs/image"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// base is the directory that an analysis has as "/" in place of the host's programs.
type base struct {
	input
	image *image.Root // nil: a directory for which nobody vouches
	check *rootCheck  // of the image's root
}

// ImagesDir is where images are kept, below Runner.Root.
const ImagesDir = "images"

// openRoot opens what the analysis is to have as "/" where that is not the host's.
func openRoot(ctx context.Context, host *phase.Host, p *plan, o opener) error {
	switch {
	case p.analysis.RootfsDirectory():
		in, err := openInput("--rootfs", p.analysis.Rootfs, "/")
		if err != nil {
			return err
		}
		p.base = &base{input: in}
		return o.checkDirectory(&p.base.input)
	case p.analysis.RootfsImage():
		b, err := openImage(ctx, host, p.analysis.Rootfs)
		if err != nil {
			return fmt.Errorf("--rootfs: %w", err)
		}
		p.base = b
	}
	return nil
}

// openImage opens the root of an image, which is unpacked where it is not yet, and begins to check it.
func openImage(ctx context.Context, host *phase.Host, name string) (*base, error) {
	dir := filepath.Join(host.Root, ImagesDir)
	if !exists(dir) { // a run makes no store
		return nil, &image.UnknownError{Name: name}
	}
	store, err := image.Open(dir)
	if err != nil {
		return nil, err
	}
	root, err := store.Root(ctx, name)
	if err != nil {
		return nil, err
	}
	b := &base{image: root}
	if err := b.open(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	b.check = checkRoot(ctx, root)
	return b, nil
}

// open opens what the image has as its root now.
func (b *base) open() (err error) {
	if b.input, err = openInput("--rootfs", b.image.Dir, "/"); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(b.file.Fd()), &st); err != nil {
		return errors.Join(err, b.file.Close())
	}
	b.bind.Directory, b.bind.Dev, b.bind.Ino = true, st.Dev, st.Ino
	return nil
}

// hold lets the supervisor keep an image's root in use: it may live on for a moment when this process has died, and
// what its analysis sees is not to be removed under it.
func (p *plan) hold(job *sandbox.Job, files *jobFiles) error {
	if p.base == nil || p.base.image == nil {
		return nil
	}
	fd, err := unix.FcntlInt(p.base.image.Hold().Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	job.Hold = files.add(os.NewFile(uintptr(fd), p.base.bind.Source))
	return nil
}

// mend makes a damaged root anew as long as nothing of it is mounted.
func (b *base) mend(ctx context.Context) (mended bool, err error) {
	if b == nil || b.image == nil {
		return false, nil
	}
	damage, err := b.check.settled(ctx)
	if damage == nil {
		return false, err
	}
	if err := b.repair(ctx, damage); err != nil {
		return false, err
	}
	if err := errors.Join(b.file.Close(), b.open()); err != nil {
		return false, err
	}
	b.check = checkRoot(ctx, b.image)
	return true, nil
}

// repair makes a damaged root anew. The error is why it could not be, with what was wrong with it.
func (b *base) repair(ctx context.Context, damage error) error {
	if !errors.Is(damage, image.ErrDamaged) {
		return damage
	}
	if err := b.image.Repair(ctx); err != nil {
		return fmt.Errorf("%w, and it could not be made anew: %w", damage, err)
	}
	return nil
}

// sound waits for the check.
func (b *base) sound() error {
	if b == nil || b.image == nil {
		return nil
	}
	return b.check.wait()
}

// alarm is closed when damage is found; nil where nobody looks.
func (b *base) alarm() <-chan struct{} {
	if b == nil || b.image == nil {
		return nil
	}
	return b.check.damaged
}

func (b *base) close() error {
	if b == nil {
		return nil
	}
	err := b.file.Close()
	if b.image != nil {
		b.check.stop()
		err = errors.Join(err, b.image.Close())
	}
	return err
}

// plant plans the root filesystem for an analysis that is uid inside.
func (p *plan) plant(uid uint32) (err error) {
	if p.base == nil {
		p.tree, err = rootfs.Host("/", uid)
		p.linkRuntime()
		return err
	}
	if p.tree, err = rootfs.Directory(p.base.bind.Source, uid); err != nil {
		return fmt.Errorf("%s: %w", p.base, err)
	}
	p.linkRuntime()
	for _, b := range p.inputs.binds() {
		if err := p.tree.CheckMountPoint(b.Destination, b.Directory); err != nil {
			return fmt.Errorf("%q cannot be shown at %s: %w; choose another destination", b.Source, b.Destination, err)
		}
	}
	return nil
}

// spread is for another runtime, which makes no overlay as the supervisor does.
func (p *plan) spread() (err error) {
	if err := p.base.sound(); err != nil {
		return err
	}
	p.tree, err = p.tree.Spread()
	return err
}

// checkPinned refuses a repeated run on another root filesystem than it had, unless the image was named anew.
func checkPinned(ctx context.Context, host *phase.Host, p *plan, req Request) error {
	model := req.model(p.key)
	if model.ID == "" || req.AnyRoot || p.base == nil || p.base.image == nil {
		return nil
	}
	last, err := host.Catalog.Get(ctx, model)
	if err != nil {
		return err
	}
	before, err := result.New(last)
	if err != nil {
		return err
	}
	name, had, has := p.analysis.Rootfs, before.Sandbox.RootfsDigest, p.base.image.Digest.String()
	if before.Sandbox.Rootfs != name || had == nil || *had == has {
		return nil
	}
	if !req.Again {
		return fmt.Errorf("image %q is not what %s ran on: its root filesystem was %s and is %s; get that one back", name, model.ID, *had, has)
	}
	return fmt.Errorf("--again %s: image %q is not what attempt %d ran on: its root filesystem was %s and is %s; get that one back, or add --rootfs %s to run on what it is now",
		p.key.ID, name, last.Attempt, *had, has, name)
}

// origin is what the result says of an image before its root was checked.
func (b *base) origin(s *result.Sandbox) {
	if b == nil || b.image == nil {
		return
	}
	reference := b.image.Image.Reference
	s.RootfsReference = &reference
	if packages := b.image.Image.PackagesDigest.String(); packages != "" {
		s.PackagesDigest = &packages
	}
}

// vouch puts the digest of a root filesystem that was checked into the result.
func (e *execution) vouch() error {
	b := e.plan.base
	if err := b.sound(); err != nil {
		return err
	}
	if b != nil && b.image != nil {
		digest := b.image.Digest.String()
		e.report.Sandbox.RootfsDigest = &digest
	}
	return nil
}

// mendRoot repairs what the analysis is to run on, and says so.
func (e *execution) mendRoot(ctx context.Context) error {
	mended, err := e.plan.base.mend(ctx)
	if mended {
		e.report.Warnings = append(e.report.Warnings, fmt.Sprintf(
			"the root filesystem of image %q had been changed, and was made anew from its layers before the start", e.plan.base.image.Image.Name))
	}
	return err
}

// aftercare makes a root anew that was found damaged when the analysis had begun, for the runs to come. err is why
// this one ended.
func (b *base) aftercare(ctx context.Context, err error) error {
	if b == nil || b.image == nil || !errors.Is(err, image.ErrDamaged) ||
		err != b.check.damage { //nolint:errorlint // what mend has wrapped was tried already
		return err
	}
	if failed := b.repair(ctx, err); failed != nil {
		return failed
	}
	return fmt.Errorf("%w; it has been made anew from its layers, so run this again", err)
}

// environment is what an analysis' environment takes from its image.
func (b *base) environment() []string {
	if b == nil || b.image == nil {
		return nil
	}
	return b.image.Config.Env
}
