package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// awaited reads what is to be committed yet of runs that have ended: copies of it on this host may be the only ones.
func awaited(host *phase.Host) (func(sha256 string) bool, error) {
	named := &digests{}
	err := pending.Digests(host, func(sha256 string) bool {
		named.add(sha256)
		return true
	})
	if err != nil {
		return nil, err
	}
	found, err := filepath.Glob(filepath.Join(workspace.GlobEscape(host.Root), "runs", "*.aftermath"))
	for _, path := range found {
		var a phase.Ended
		content, err := record.Open(path, &a)
		if err != nil {
			continue // a damaged one is of no use
		}
		_ = content.Close() // it was only read
		for _, kept := range append(a.Logs[:], a.Script) {
			if kept != nil {
				named.add(kept.SHA256)
			}
		}
	}
	return named.has, err
}

// sweepBlobs removes blobs that no run of this catalog names: those of removed runs, and those of runs
// that were killed before their commit. In a directory the store's lock keeps every run from standing between its
// publication and its commit meanwhile; what keeps other hosts of a shared store safe is told in docs/adr/0025.
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

// removeUnnamed goes by an age of before the catalog is read.
func (c *collector) removeUnnamed(ctx context.Context) error {
	before := time.Now().Add(-c.Blobs.Grace())
	named, err := c.needed(ctx)
	if err != nil {
		return fmt.Errorf("read the digests that runs name: %w", err)
	}
	var old []blob.Found
	var failed error
	err = c.Blobs.Walk(ctx, named.has, func(f blob.Found) bool {
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
	if !c.dry {
		blobs, err = c.Blobs.Remove(ctx, blobs, before)
	}
	for _, f := range blobs {
		c.report.Blobs++
		c.report.BlobBytes += f.Size
	}
	return err
}

// cleanUploads gives up what killed hosts have begun to put into a shared store.
func (c *collector) cleanUploads(ctx context.Context) error {
	n, err := c.Blobs.CleanUploads(ctx, time.Now().Add(-c.Blobs.Grace()), c.dry)
	if n > 0 {
		c.report.Removed = append(c.report.Removed, fmt.Sprintf("%d unfinished uploads to %s", n, c.Blobs))
	}
	return err
}

// emptyCache removes the copies of a shared store's blobs on this host.
func (c *collector) emptyCache() error {
	if c.dry {
		return nil
	}
	return c.Blobs.EmptyCache(func() (func(string) bool, error) { return awaited(c.Host) })
}
