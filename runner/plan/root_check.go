package plan

import (
	"context"

	"github.com/scidex-ai/scidex-oci/rootfs/image"
)

// rootCheck is one check of an image's root, during the start of the run: of the metadata and, in doubt, by reading
// everything.
type rootCheck struct {
	cancel  context.CancelFunc
	doubted chan struct{} // closed when there is a doubt
	damaged chan struct{} // closed when there is damage
	done    chan struct{} // closed when damage is what was found
	damage  error
}

// checkRoot starts a check, which continues when ctx has ended: a request's checks end before its run.
func checkRoot(ctx context.Context, root *image.Root) *rootCheck {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &rootCheck{cancel: cancel, doubted: make(chan struct{}), damaged: make(chan struct{}), done: make(chan struct{})}
	go c.look(ctx, root)
	return c
}

func (c *rootCheck) look(ctx context.Context, root *image.Root) {
	defer close(c.done)
	if root.QuickCheck(ctx) == nil {
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

// known returns the damage as far as it is known: only in doubt it waits for the rest.
func (c *rootCheck) known(ctx context.Context) (damage, err error) {
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

// stop ends the check and drops its result.
func (c *rootCheck) stop() {
	c.cancel()
	<-c.done
}
