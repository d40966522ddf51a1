// Package outcomes commits the results of ended runs that wait below the root (runner/pending).
package outcomes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/recovery/killed"
	"github.com/scidex-ai/scidex-oci/runner/recovery/pass"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Commit commits what waits, however long it takes.
func Commit(ctx context.Context, p *pass.Pass) { committer{Pass: p}.all(ctx) }

// CommitBriefly is Commit for a command with another purpose.
func CommitBriefly(ctx context.Context, p *pass.Pass) {
	committer{Pass: p, deadline: time.Now().Add(briefUpload)}.all(ctx)
}

// briefUpload bounds how long a command with another purpose uploads the blobs of all pending outcomes.
const briefUpload = 20 * time.Second

// committer commits the outcomes of one pass.
type committer struct {
	*pass.Pass
	deadline time.Time // of uploads, and whether to bound the wait for the catalog; zero: neither
}

// brief reports whether the command has another purpose.
func (c committer) brief() bool { return !c.deadline.IsZero() }

func (c committer) all(ctx context.Context) {
	waiting, aside, err := pending.List(c.Host)
	c.Report.Fail(err)
	c.Report.Kept = append(c.Report.Kept, aside...)
	for n, key := range waiting {
		err := c.one(ctx, key)
		c.Report.FailRun(key, err)
		if left := len(waiting) - n - 1; left > 0 && c.late(err) {
			c.Report.Fail(fmt.Errorf("%d more wait as well; \"scidex-oci gc\" takes the time to commit them", left))
			return
		}
	}
}

// late reports, after an outcome, whether a command with another purpose skips the others: they would fail the same way.
func (c committer) late(err error) bool {
	return c.brief() && (errors.Is(err, blob.ErrPasses) || !time.Now().Before(c.deadline))
}

// one commits one outcome, with the lock of its run, and removes what the run left.
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
		c.Report.Committed = append(c.Report.Committed, key)
	}
	if c.Dry {
		return t.Leave()
	}
	return killed.CleanEnded(ctx, c.Pass, t, run)
}
