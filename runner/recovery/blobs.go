package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/runner/pending"
)

// sweepBlobs removes blobs that no run of this catalog names: those of removed runs, and those of runs killed before their commit.
// In a directory the store's lock excludes runs between their publication and their commit; for what protects other hosts of
// a shared store see docs/adr/0025.
func sweepBlobs(ctx context.Context, p *pass, expired expiredRuns) error {
	if p.Blobs.Shared() {
		return errors.Join(removeUnnamed(ctx, p, expired), cleanUploads(ctx, p), emptyCache(p))
	}
	release, err := p.Blobs.Sweep()
	if err != nil {
		return err
	}
	return errors.Join(removeUnnamed(ctx, p, expired), release())
}

// removeUnnamed sets an age limit before reading the catalog.
func removeUnnamed(ctx context.Context, p *pass, expired expiredRuns) error {
	before := time.Now().Add(-p.Blobs.Grace())
	named, err := readNamed(ctx, p, expired)
	if err != nil {
		return fmt.Errorf("read the digests that runs name: %w", err)
	}
	var old []cas.Found
	var failed error
	err = p.Blobs.Walk(ctx, named.Has, func(f cas.Found) bool {
		if f.Modified.Before(before) {
			old = append(old, f)
		}
		if len(old) == removeMost {
			failed, old = removeBlobs(ctx, p, old, before), nil
		}
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil || len(old) == 0 {
		return err
	}
	return removeBlobs(ctx, p, old, before)
}

// removeMost blobs are removed at once.
const removeMost = 1000

func removeBlobs(ctx context.Context, p *pass, blobs []cas.Found, before time.Time) (err error) {
	if !p.dry {
		blobs, err = p.Blobs.Remove(ctx, blobs, before)
	}
	for _, f := range blobs {
		p.report.Blobs++
		p.report.BlobBytes += f.Size
	}
	return err
}

// cleanUploads aborts uploads of killed hosts to a shared store.
func cleanUploads(ctx context.Context, p *pass) error {
	n, err := p.Blobs.CleanUploads(ctx, time.Now().Add(-p.Blobs.Grace()), p.dry)
	if n > 0 {
		p.report.Removed = append(p.report.Removed, fmt.Sprintf("%d unfinished uploads to %s", n, p.Blobs))
	}
	return err
}

// emptyCache removes the copies of a shared store's blobs on this host.
func emptyCache(p *pass) error {
	if p.dry {
		return nil
	}
	return p.Blobs.EmptyCache(func() (func(string) bool, error) { return pending.Awaited(p.Host) })
}
