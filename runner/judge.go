package runner

import (
	"context"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/runner/judge"
)

// judge decides how the run ended, and has its statement signed.
func (r *run) judge(ctx context.Context, end judge.End) (judge.End, error) {
	defer r.span("judge")()
	end.Report.Warnings = append(end.Report.Warnings, r.task.Observer.Warnings()...)
	end.Location, end.WorkGone = r.space.Location, r.space.WorkGone()
	return judge.Run(ctx, end, judge.Signing{Key: r.host.Sign, Into: r.ingest}, r.space.Date(time.Now()))
}

// ingest is where the statement goes. A run that failed before it had a place for files gets one.
func (r *run) ingest() (_ *cas.Ingest, err error) {
	if r.space.Ingest == nil {
		r.space.Ingest, err = r.host.Blobs.NewIngest(r.space.Run.ID)
	}
	return r.space.Ingest, err
}
