package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// blobGrace is how long a blob that nothing names stays: what was removed a moment ago may be run again.
const blobGrace = time.Hour

// sweepBlobs removes blobs that no run of this catalog names: those of removed runs, and those of runs
// that were killed before their commit. The store's lock keeps every run from standing between its
// publication and its commit meanwhile.
func (c *collector) sweepBlobs(ctx context.Context) (err error) {
	release, err := c.Blobs.Sweep()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	named, err := c.needed(ctx)
	if err != nil {
		return fmt.Errorf("read the digests that runs name: %w", err)
	}
	var failed error
	err = c.Blobs.Walk(named.has, func(sha256 string, info fs.FileInfo) bool {
		if time.Since(info.ModTime()) > blobGrace {
			failed = c.removeBlob(sha256, info.Size())
		}
		return failed == nil
	})
	return errors.Join(err, failed)
}

func (c *collector) removeBlob(sha256 string, size int64) error {
	c.report.Blobs++
	c.report.BlobBytes += size
	if c.dry {
		return nil
	}
	return c.Blobs.Remove(sha256)
}
