package plan

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/rootfs/image"
	"github.com/scidex-ai/scidex-oci/runner/inputs"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Base is the directory that an analysis has as "/" instead of the host's programs.
type Base struct {
	inputs.Input
	Image *image.Root // nil: a directory without a known digest
	check *rootCheck  // of the image's root
}

// ImagesDir has the images, below phase.Host.Root.
const ImagesDir = "images"

// openRoot opens and plans what the analysis has as "/".
func (p *Plan) openRoot(ctx context.Context, host *phase.Host, o inputs.Opener) (err error) {
	defer trace.From(ctx).Span(trace.Run, "root filesystem")()
	if p.Base, err = openRootfs(ctx, host, p.Analysis, o); err != nil {
		return err
	}
	p.Tree, err = p.plant(p.uid())
	return err
}

// openRootfs opens the analysis' "/" if that is not the host's; nil if it is. One that must not be shown is returned with
// the error.
func openRootfs(ctx context.Context, host *phase.Host, a spec.Analysis, o inputs.Opener) (*Base, error) {
	switch {
	case a.RootfsDirectory():
		in, err := inputs.OpenInput("--rootfs", a.Rootfs, "/")
		if err != nil {
			return nil, err
		}
		b := &Base{Input: in}
		return b, o.CheckDirectory(&b.Input)
	case a.RootfsImage():
		b, err := OpenImage(ctx, host, a.Rootfs)
		if err != nil {
			return nil, fmt.Errorf("--rootfs: %w", err)
		}
		return b, nil
	}
	return nil, nil // the host's
}

// OpenImage opens the root of an image, unpacks it if necessary, and starts its check.
func OpenImage(ctx context.Context, host *phase.Host, name string) (*Base, error) {
	dir := filepath.Join(host.Root, ImagesDir)
	if !workspace.Exists(dir) { // a run makes no store
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
	b := &Base{Image: root}
	if err := b.open(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	b.check = checkRoot(ctx, root)
	return b, nil
}

// open opens the current root of the image.
func (b *Base) open() (err error) {
	if b.Input, err = inputs.OpenInput("--rootfs", b.Image.Dir, "/"); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(b.File.Fd()), &st); err != nil {
		return errors.Join(err, b.File.Close())
	}
	b.Bind.Directory, b.Bind.Dev, b.Bind.Ino = true, st.Dev, st.Ino
	return nil
}

// Dir is the directory on the host; that of nil, the host's programs, is "/".
func (b *Base) Dir() string {
	if b == nil {
		return "/"
	}
	return b.Bind.Source
}

// Repair makes a damaged root again as long as nothing of it is mounted.
func (b *Base) Repair(ctx context.Context) (repaired bool, err error) {
	if b == nil || b.Image == nil {
		return false, nil
	}
	damage, err := b.check.known(ctx)
	if damage == nil {
		return false, err
	}
	if err := b.repair(ctx, damage); err != nil {
		return false, err
	}
	if err := errors.Join(b.File.Close(), b.open()); err != nil {
		return false, err
	}
	b.check = checkRoot(ctx, b.Image)
	return true, nil
}

// repair makes a damaged root again. The error is why it could not, with the damage.
func (b *Base) repair(ctx context.Context, damage error) error {
	if !errors.Is(damage, image.ErrDamaged) {
		return damage
	}
	if err := b.Image.Repair(ctx); err != nil {
		return fmt.Errorf("%w, and it could not be made again: %w", damage, err)
	}
	return nil
}

// Sound waits for the check.
func (b *Base) Sound() error {
	if b == nil || b.Image == nil {
		return nil
	}
	return b.check.wait()
}

// Alarm is closed on damage; nil if there is no check.
func (b *Base) Alarm() <-chan struct{} {
	if b == nil || b.Image == nil {
		return nil
	}
	return b.check.damaged
}

// Close ends the check of the root and closes it; nil is closed.
func (b *Base) Close() error {
	if b == nil {
		return nil
	}
	err := b.File.Close()
	if b.Image != nil {
		b.check.stop()
		err = errors.Join(err, b.Image.Close())
	}
	return err
}

// plant plans the root filesystem for an analysis that is uid inside.
func (p *Plan) plant(uid uint32) (tree rootfs.Tree, err error) {
	if p.Base == nil {
		tree, err = rootfs.Host("/", uid)
	} else if tree, err = rootfs.Directory(p.Base.Bind.Source, uid); err != nil {
		err = fmt.Errorf("%s: %w", p.Base, err)
	}
	if err != nil {
		return tree, err
	}
	tree = rootfs.WithLimits(withRuntime(tree, p.Inputs), int64(p.Analysis.Memory), p.Analysis.CPUs)
	return tree, first(func() error { return checkInputPoints(tree, p.Inputs) }, func() error { return checkWorkPoint(tree, p.Analysis) })
}

// checkInputPoints refuses an input where the root filesystem has something that it would hide. Below /var that is anything: programs
// keep their state there.
func checkInputPoints(tree rootfs.Tree, set *inputs.Set) error {
	for _, in := range set.Inputs {
		b := in.Bind
		err := tree.CheckMountPoint(b.Destination, b.Directory)
		if err == nil && in.Flag == "--input" && strings.HasPrefix(b.Destination, "/var/") {
			err = tree.CheckFresh(b.Destination)
		}
		if err != nil {
			return fmt.Errorf("%q cannot be shown at %s: %w; choose another destination", b.Source, b.Destination, err)
		}
	}
	return nil
}

// checkWorkPoint refuses a second path of the working directory where the root filesystem has something.
func checkWorkPoint(tree rootfs.Tree, a spec.Analysis) error {
	for _, dir := range a.WorkDirs()[1:] {
		if err := tree.CheckFresh(dir); err != nil {
			return fmt.Errorf("--workdir %q cannot be made: %w; choose a fresh path such as /job", dir, err)
		}
	}
	return nil
}

// withRuntime adds to a root filesystem what leads to the runtime's interpreter.
func withRuntime(tree rootfs.Tree, set *inputs.Set) rootfs.Tree {
	if set.Runtime != nil {
		tree.Links = append(tree.Links, set.Runtime.Links...)
	}
	return tree
}

// spread is for another runtime, which makes no overlay as the supervisor does.
func (p *Plan) spread() (err error) {
	if err := p.Base.Sound(); err != nil {
		return err
	}
	points := p.Analysis.WorkDirs()
	for _, b := range p.Inputs.Binds() {
		points = append(points, b.Destination)
	}
	p.Tree, err = p.Tree.Spread(points...)
	return err
}

// checkPinned refuses to repeat a run on another root filesystem, unless the image was named again.
func checkPinned(ctx context.Context, host *phase.Host, p *Plan, req request.Request) error {
	model := req.Model(p.Key)
	if model.ID == "" || req.AnyRoot || p.Base == nil || p.Base.Image == nil {
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
	name, had, has := p.Analysis.Rootfs, before.Sandbox.RootfsDigest, p.Base.Image.Digest.String()
	if before.Sandbox.Rootfs != name || had == nil || *had == has {
		return nil
	}
	if !req.Again {
		return fmt.Errorf("image %q is not what %s ran on: its root filesystem was %s and is %s; get that one back", name, model.ID, *had, has)
	}
	return fmt.Errorf("--again %s: image %q is not what attempt %d ran on: its root filesystem was %s and is %s; get that one back, or add --rootfs %s to run on what it is now",
		p.Key.ID, name, last.Attempt, *had, has, name)
}

// origin adds an image to the result before its root was checked.
func (b *Base) origin(s *result.Sandbox) {
	if b == nil || b.Image == nil {
		return
	}
	reference := b.Image.Image.Reference
	s.RootfsReference = &reference
	if packages := b.Image.Image.PackagesDigest.String(); packages != "" {
		s.PackagesDigest = &packages
	}
}

// Aftercare repairs a root found damaged after the analysis had started, for later runs. err is why this one ended.
func (b *Base) Aftercare(ctx context.Context, err error) error {
	if b == nil || b.Image == nil || !errors.Is(err, image.ErrDamaged) ||
		err != b.check.damage { //nolint:errorlint // what repair has wrapped was tried already
		return err
	}
	if failed := b.repair(ctx, err); failed != nil {
		return failed
	}
	return fmt.Errorf("%w; it has been made again from its layers, so run this again", err)
}

// environment is what an analysis' environment takes from its image.
func (b *Base) environment() []string {
	if b == nil || b.Image == nil {
		return nil
	}
	return b.Image.Config.Env
}
