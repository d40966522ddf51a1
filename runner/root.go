package runner

import (
	"context"
	"fmt"

	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/spec"
)

// openRoot opens what the analysis is to have as "/" where that is not the host's.
func (r *Runner) openRoot(_ context.Context, p *plan, o opener) error {
	if p.analysis.Rootfs == spec.RootfsHost {
		return nil
	}
	in, err := openInput("--rootfs", p.analysis.Rootfs, "/")
	if err != nil {
		return err
	}
	p.base = &in
	return o.checkDirectory(p.base)
}

// plant plans the root filesystem for an analysis that is uid inside.
func (p *plan) plant(uid uint32) (err error) {
	if p.base == nil {
		p.tree, err = rootfs.Host("/", uid)
		return err
	}
	if p.tree, err = rootfs.Directory(p.base.bind.Source, uid); err != nil {
		return fmt.Errorf("%s: %w", p.base, err)
	}
	for _, b := range p.inputs.binds() {
		if err := p.tree.CheckMountPoint(b.Destination, b.Directory); err != nil {
			return fmt.Errorf("%q cannot be shown at %s: %w; choose another destination", b.Source, b.Destination, err)
		}
	}
	return nil
}

// spread is for another runtime, which makes no overlay as the supervisor does.
func (p *plan) spread() (err error) {
	p.tree, err = p.tree.Spread()
	return err
}

func (p *plan) closeRoot() error {
	if p.base == nil {
		return nil
	}
	return p.base.file.Close()
}
