package plan

import (
	"context"

	"github.com/scidex-ai/scidex-oci/rootfs/image"
)

// rootCheck is one check of an image's root, which goes on while the run is being started: at a glance and, where
// that raises a doubt, by reading everything.
type rootCheck struct {
	cancel  context.CancelFunc
	doubted chan struct{} // closed when there is a doubt
	damaged chan struct{} // closed when there is damage
	done    chan struct{} // closed when damage is what was found
	damage  error
}

// checkRoot begins a check, which goes on when ctx has ended: a request is checked before its run is over.
func checkRoot(ctx context.Context, root *image.Root) *rootCheck {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &rootCheck{cancel: cancel, doubted: make(chan struct{}), damaged: make(chan struct{}), done: make(chan struct{})}
	go c.look(ctx, root)
	return c
}

func (c *rootCheck) look(ctx context.Context, root *image.Root) {
	defer close(c.done)
	if root.Glance(ctx) == nil {
		return
	}
	close(c.doubted)
	if c.damage = root.Check(ctx); c.damage != nil {
		close(c.damaged)
	}
}

// wait returns the damage.
func (c *rootCheck) wait() error {
	<-c.done
	return c.damage
}

// settled returns the damage as far as it is known: only where there is a doubt it waits for the rest.
func (c *rootCheck) settled(ctx context.Context) (damage, err error) {
	select {
	case <-c.doubted:
	default:
		return nil, nil
	}
	select {
	case <-c.done:
		return c.damage, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// stop ends the check; what it found is nobody's to know.
func (c *rootCheck) stop() {
	c.cancel()
	<-c.done
}
