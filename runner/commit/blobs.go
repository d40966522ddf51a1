package commit

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// KeepBlobs makes sure that the blobs a run names are in the store that its row may name, and that this is the store into which
// they were published. timeout is how long one more blob may take.
func KeepBlobs(ctx context.Context, blobs *blob.Store, timeout time.Duration, run catalog.Run, next func() (outputs.Entry, error)) error {
	if !blobs.Shared() {
		return blobs.CheckReplaced()
	}
	named, err := NamedBy(run, next)
	if err != nil {
		return err
	}
	most, moved := int64(0), time.Now()
	allowed := func() bool { return time.Since(moved) < timeout }
	return retry(ctx, allowed, func() error {
		var kept atomic.Int64
		err := blobs.Keep(ctx, named, func() { kept.Add(1) })
		if n := kept.Load(); n > most {
			most, moved = n, time.Now()
		}
		return err
	})
}

// NamedBy are the digests that a run names, each once.
func NamedBy(run catalog.Run, next func() (outputs.Entry, error)) (named []string, err error) {
	seen := map[string]bool{}
	note := func(sha256 string) {
		if !seen[sha256] {
			seen[sha256] = true
			named = append(named, sha256)
		}
	}
	for _, sha256 := range run.Blobs {
		note(sha256)
	}
	for {
		entry, err := next()
		if errors.Is(err, io.EOF) {
			return named, nil
		}
		if err != nil {
			return nil, err
		}
		if entry.Rejected == "" {
			note(entry.SHA256)
		}
	}
}
