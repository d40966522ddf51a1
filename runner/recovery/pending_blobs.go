package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/runner/commit"
	"github.com/scidex-ai/scidex-oci/runner/pending"
)

// holdBlobs lasts from before the check of the blobs until they are committed: a gc of another root has the same store.
func (c committer) holdBlobs(ctx context.Context) (release func(), err error) {
	if c.Blobs.Shared() {
		return func() {}, nil
	}
	done, err := c.Blobs.Hold(ctx)
	return func() { _ = done() }, err
}

// keepBlobs makes sure that the store has the blobs that a record names. It reads the record for itself.
func (c committer) keepBlobs(ctx context.Context, path string) error {
	var waiting pending.Record
	content, err := record.Open(path, &waiting)
	if err != nil {
		return err
	}
	defer content.Close()
	if !c.Blobs.Shared() {
		return c.stillThere(ctx, waiting.Run, content.Next)
	}
	timeout := commit.DefaultTimeout
	if c.bounded() {
		timeout = 0
		var cancel context.CancelFunc
		late := fmt.Errorf("the blob store %s did not take all of it within %v; \"scidex-oci gc\" waits longer", c.Blobs, uploadTime)
		ctx, cancel = context.WithDeadlineCause(ctx, c.deadline, late)
		defer cancel()
	}
	err = commit.KeepBlobs(ctx, c.Blobs, timeout, waiting.Run, content.Next)
	if errors.Is(err, fs.ErrNotExist) {
		return c.missing(ctx, waiting.Run, err)
	}
	return err
}

// stillThere checks that the blobs of a run exist: gc on another host of the same directory does not know what is pending
// here. Commit reports a run that has ended otherwise.
func (c committer) stillThere(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error)) error {
	named, err := commit.NamedBy(run, next)
	if err != nil {
		return err
	}
	for _, sha256 := range named {
		there, err := c.Blobs.Has(ctx, sha256)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		return c.missing(ctx, run, fmt.Errorf("blob %s, which it names, is not in the blob store %s any more", sha256, c.Blobs))
	}
	return nil
}

// missing says what to do about a missing blob.
func (c committer) missing(ctx context.Context, run catalog.Run, what error) error {
	now, err := c.Catalog.Get(ctx, run.Key)
	if err != nil || now.State.Final() {
		return err
	}
	return fmt.Errorf("%w; put the blob back, or remove the record and the run is lost", what)
}
