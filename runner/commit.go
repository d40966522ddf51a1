package runner

import (
	"context"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/runner/commit"
	"github.com/scidex-ai/scidex-oci/runner/limits"
)

// judge decides how the run ended, and has its statement signed.
func (r *run) judge(ctx context.Context, end commit.End) (commit.End, error) {
	defer r.span("judge")()
	report := &end.Report
	if !end.Outer {
		report.Warnings = append(report.Warnings, limits.Unheld(report.Enforced)...)
	}
	report.Warnings = append(report.Warnings, r.task.Observer.Warnings()...)
	end.Location, end.WorkGone = r.space.Location, r.space.WorkGone()
	return commit.Judge(ctx, end, commit.Signing{Key: r.host.Sign, Into: r.ingest}, r.space.Date(time.Now()))
}

// ingest is where the statement goes. A run that failed before it had a place for files gets one.
func (r *run) ingest() (_ *cas.Ingest, err error) {
	if r.space.Ingest == nil {
		r.space.Ingest, err = r.host.Blobs.NewIngest(r.space.Run.ID)
	}
	return r.space.Ingest, err
}

// commit commits the run as it was judged.
func (r *run) commit(ctx context.Context, end commit.End) error {
	defer r.span("commit")()
	r.space.WaitNoted()
	return r.task.Suspender.Uninterrupted(func() error { return commit.Run(ctx, r.host, r.ledger, end, r.task.Request.Stop) })
}
