package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// CommitPending commits pending results of this root, and returns their runs. What still cannot be committed is logged and
// stays.
func CommitPending(ctx context.Context, host *phase.Host) []catalog.Key {
	waiting, _, err := pending.List(host)
	if len(waiting) == 0 {
		if err != nil {
			host.Log.Warn("results that wait to be committed", "error", err)
		}
		return nil
	}
	p, err := newPass(ctx, host, false)
	if err != nil {
		host.Log.Warn("results that wait to be committed", "error", err)
		return nil
	}
	defer p.close()
	committer{pass: p, deadline: time.Now().Add(uploadTime)}.all(ctx)
	for _, err := range p.report.Errors {
		host.Log.Warn("a result waits to be committed", "error", err)
	}
	return p.report.Committed
}

// uploadTime bounds how long a command with another purpose uploads the blobs of all pending results.
const uploadTime = 20 * time.Second

// committer commits the pending results of one pass.
type committer struct {
	*pass
	deadline time.Time // of uploads, and whether to bound the wait for the catalog; zero: neither
}

// bounded reports whether the time is: the command has another purpose.
func (c committer) bounded() bool { return !c.deadline.IsZero() }

func (c committer) all(ctx context.Context) {
	waiting, refused, err := pending.List(c.Host)
	c.report.fail(err)
	c.report.Kept = append(c.report.Kept, refused...)
	for n, key := range waiting {
		err := c.one(ctx, key)
		c.report.failRun(key, err)
		if left := len(waiting) - n - 1; left > 0 && c.late(err) {
			c.report.fail(fmt.Errorf("%d more wait as well; \"scidex-oci gc\" takes the time to commit them", left))
			return
		}
	}
}

// late reports, after a result, whether a command with another purpose skips the others: they would fail the same way.
func (c committer) late(err error) bool {
	return c.bounded() && (errors.Is(err, blob.ErrTransient) || !time.Now().Before(c.deadline))
}

// one commits one result, with the lock of its run, and removes what the run left.
func (c committer) one(ctx context.Context, key catalog.Key) error {
	t, err := workspace.Lock(c.Root, key)
	if errors.Is(err, workspace.ErrLocked) {
		return nil // its launcher, or another command that commits it
	}
	if err != nil {
		return err
	}
	run, err := c.commit(ctx, key)
	if err != nil || run.ID == "" {
		return errors.Join(err, t.Leave())
	}
	if run.State != outcome.Lost {
		c.report.Committed = append(c.report.Committed, key)
	}
	if c.dry {
		return t.Leave()
	}
	return cleanEnded(ctx, c.pass, t, run)
}
