package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/runner/commit"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/recovery/killed"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// CommitOutcomes commits pending outcomes of this root, and returns their runs. What still cannot be committed is logged and
// stays.
func CommitOutcomes(ctx context.Context, host *phase.Host) []catalog.Key {
	waiting, _, err := pending.List(host)
	if len(waiting) == 0 {
		if err != nil {
			host.Log.Warn("results that wait to be committed", "error", err)
		}
		return nil
	}
	c, err := newCollector(ctx, host, false)
	if err != nil {
		host.Log.Warn("results that wait to be committed", "error", err)
		return nil
	}
	defer c.Close()
	c.hurried = time.Now().Add(hurriedUpload)
	c.commitOutcomes(ctx)
	for _, err := range c.Report.Errors {
		host.Log.Warn("a result waits to be committed", "error", err)
	}
	return c.Report.Committed
}

// commitOutcomes commits what waits.
func (c *collector) commitOutcomes(ctx context.Context) {
	waiting, aside, err := pending.List(c.Host)
	c.Report.Fail(err)
	c.Report.Kept = append(c.Report.Kept, aside...)
	for n, key := range waiting {
		err := c.commitOutcome(ctx, key)
		c.Report.FailRun(key, err)
		if left := len(waiting) - n - 1; left > 0 && c.late(err) {
			c.Report.Errors = append(c.Report.Errors, fmt.Errorf("%d more wait as well; \"scidex-oci gc\" takes the time to commit them", left))
			return
		}
	}
}

// late reports, after an outcome, whether a command with another purpose skips the others: they would fail the same way.
func (c *collector) late(err error) bool {
	return !c.hurried.IsZero() && (errors.Is(err, blob.ErrPasses) || !time.Now().Before(c.hurried))
}

// commitOutcome commits one outcome, with the lock of its run, and removes what the run left.
func (c *collector) commitOutcome(ctx context.Context, key catalog.Key) error {
	t, err := workspace.Lock(c.Root, key)
	if errors.Is(err, workspace.ErrLocked) {
		return nil // its launcher, or another command that commits it
	}
	if err != nil {
		return err
	}
	run, err := c.commitRecord(ctx, key)
	if err != nil || run.ID == "" {
		return errors.Join(err, t.Leave())
	}
	if run.State != catalog.Lost {
		c.Report.Committed = append(c.Report.Committed, key)
	}
	if c.Dry {
		return t.Leave()
	}
	return killed.CleanEnded(ctx, c.Pass, t, run)
}

// commitRecord returns the run that was committed, or a superseded lost one; one without an id where there was nothing to
// commit.
func (c *collector) commitRecord(ctx context.Context, key catalog.Key) (none catalog.Run, err error) {
	path := pending.Path(c.Host, key)
	if !c.Dry {
		_ = os.Remove(path + record.Unfinished) // of a launcher that was killed
	}
	var o pending.Record
	content, err := record.Open(path, &o)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil // another command was faster
	}
	if errors.Is(err, record.ErrDamaged) {
		return none, fmt.Errorf("its result, kept in %q, cannot be read: %w; the run and its directory stay as they are until you remove that file", path, err)
	}
	if err != nil {
		return none, err
	}
	defer content.Close()
	if o.Catalog != c.CatalogID {
		return none, nil // of another catalog that shares the root
	}
	if c.Dry {
		return o.Run, nil
	}
	if !c.Blobs.Shared() { // from before the check of its blobs until they are committed: a gc of another root has the same store
		release, err := c.Blobs.Hold()
		if err != nil {
			return none, err
		}
		defer func() { _ = release() }()
	}
	if err := c.keepAwaited(ctx, path); err != nil {
		return none, fmt.Errorf("its result, kept in %q, could not be committed now: %w", path, err)
	}
	ctx, started, done := c.hurry(ctx)
	defer done()
	err = c.Catalog.Commit(ctx, o.Run, func() (outputs.Entry, error) { started(); return content.Next() })
	if errors.Is(err, catalog.ErrEnded) {
		run, lost := c.Catalog.Get(context.WithoutCancel(ctx), key)
		again, failed := killed.Superseded(context.WithoutCancel(ctx), c.Catalog, run)
		if lost = errors.Join(lost, failed); lost != nil {
			return none, lost
		}
		if again {
			c.Log.Warn("another worker has the analysis; what this one made of it is removed", "run", key.String())
			return run, errors.Join(os.Remove(path), record.SyncDir(filepath.Dir(path)))
		}
		return none, errors.Join(fmt.Errorf("%w: what it was to commit is in %q and stays there", err, path+pending.Refused), os.Rename(path, path+pending.Refused))
	}
	if err != nil {
		return none, fmt.Errorf("its result, kept in %q, could not be committed now: %w", path, err)
	}
	if err := errors.Join(os.Remove(path), record.SyncDir(filepath.Dir(path))); err != nil {
		return none, err
	}
	return c.Catalog.Get(context.WithoutCancel(ctx), key)
}

// keepAwaited is keepBlobs for the record of an outcome.
func (c *collector) keepAwaited(ctx context.Context, path string) error {
	var o pending.Record
	content, err := record.Open(path, &o)
	if err != nil {
		return err
	}
	defer content.Close()
	if !c.Blobs.Shared() {
		return c.stillThere(ctx, o.Run, content.Next)
	}
	timeout := commit.DefaultTimeout
	if !c.hurried.IsZero() {
		timeout = 0
		var cancel context.CancelFunc
		late := fmt.Errorf("the blob store %s did not take all of it within %v; \"scidex-oci gc\" waits longer", c.Blobs, hurriedUpload)
		ctx, cancel = context.WithDeadlineCause(ctx, c.hurried, late)
		defer cancel()
	}
	err = commit.KeepBlobs(ctx, c.Blobs, timeout, o.Run, content.Next)
	if errors.Is(err, fs.ErrNotExist) {
		return c.missing(ctx, o.Run, err)
	}
	return err
}

// stillThere checks that the blobs of a run exist: gc on another host of the same directory does not know what is pending
// here. Commit reports a run that has ended otherwise.
func (c *collector) stillThere(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error)) error {
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
func (c *collector) missing(ctx context.Context, run catalog.Run, what error) error {
	now, err := c.Catalog.Get(ctx, run.Key)
	if err != nil || now.State.Final() {
		return err
	}
	return fmt.Errorf("%w; put the blob back, or remove the record and the run is lost", what)
}

// hurriedUpload bounds how long a command with another purpose uploads the blobs of all pending outcomes.
const hurriedUpload = 20 * time.Second

// hurriedWait bounds how long a command with another purpose waits for a locked catalog.
const hurriedWait = 5 * time.Second

// hurry bounds the wait for the catalog until begun is called, but not the commit itself.
func (c *collector) hurry(ctx context.Context) (_ context.Context, started, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	if c.hurried.IsZero() {
		return ctx, func() {}, cancel
	}
	timer := time.AfterFunc(hurriedWait, cancel)
	return ctx, func() { timer.Stop() }, cancel
}
