package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/runner/pending"
)

// sweepBlobs removes blobs that no run of this catalog names: those of removed runs, and those of runs killed before their
// commit. In a directory the store's lock excludes runs between their publication and their commit; for what protects other
// hosts of a shared store see docs/adr/0025.
func (c *collector) sweepBlobs(ctx context.Context) (err error) {
	if c.Blobs.Shared() {
		return errors.Join(c.removeUnnamed(ctx), c.cleanUploads(ctx), c.emptyCache())
	}
	release, err := c.Blobs.Sweep()
	if err != nil {
		return err
	}
	return errors.Join(c.removeUnnamed(ctx), release())
}

// removeUnnamed sets an age limit before reading the catalog.
func (c *collector) removeUnnamed(ctx context.Context) error {
	before := time.Now().Add(-c.Blobs.Grace())
	named, err := c.needed(ctx)
	if err != nil {
		return fmt.Errorf("read the digests that runs name: %w", err)
	}
	var old []blob.Found
	var failed error
	err = c.Blobs.Walk(ctx, named.Has, func(f blob.Found) bool {
		if f.Modified.Before(before) {
			old = append(old, f)
		}
		if len(old) == removeMost {
			failed, old = c.removeBlobs(ctx, old, before), nil
		}
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil || len(old) == 0 {
		return err
	}
	return c.removeBlobs(ctx, old, before)
}

// removeMost blobs are removed at once.
const removeMost = 1000

func (c *collector) removeBlobs(ctx context.Context, blobs []blob.Found, before time.Time) (err error) {
	if !c.Dry {
		blobs, err = c.Blobs.Remove(ctx, blobs, before)
	}
	for _, f := range blobs {
		c.Report.Blobs++
		c.Report.BlobBytes += f.Size
	}
	return err
}

// cleanUploads aborts uploads of killed hosts to a shared store.
func (c *collector) cleanUploads(ctx context.Context) error {
	n, err := c.Blobs.CleanUploads(ctx, time.Now().Add(-c.Blobs.Grace()), c.Dry)
	if n > 0 {
		c.Report.Removed = append(c.Report.Removed, fmt.Sprintf("%d unfinished uploads to %s", n, c.Blobs))
	}
	return err
}

// emptyCache removes the copies of a shared store's blobs on this host.
func (c *collector) emptyCache() error {
	if c.Dry {
		return nil
	}
	return c.Blobs.EmptyCache(func() (func(string) bool, error) { return pending.Awaited(c.Host) })
}
