package runner

import (
	"context"

	"github.com/scidex-ai/scidex-oci/runner/commit"
	"github.com/scidex-ai/scidex-oci/runner/judge"
)

// commit commits the run as it was judged.
func (r *run) commit(ctx context.Context, end judge.End) error {
	defer r.span("commit")()
	r.space.WaitNoted()
	return r.task.Suspender.Uninterrupted(func() error { return commit.Run(ctx, r.host, r.ledger, end, r.task.Request.Stop) })
}
