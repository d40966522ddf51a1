package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/commit"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/harvest"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// commitEnd does the launcher's steps from the harvest to the commit, and returns the row. A hook stays pending.
func commitEnd(ctx context.Context, p *pass, left remains, w adopted) (row catalog.Run, err error) {
	row = left.row
	ended, err := endOf(left)
	if err != nil {
		return row, err
	}
	row.StartedAt, row.FinishedAt = ended.StartedAt, ended.Exit.Finished.UTC()
	supervisor, err := p.access.launch(ctx)
	if err != nil {
		return row, err
	}
	end := judge.End{Ended: ended, Row: row, HasWork: true, Location: w.location}
	end = end.Harvested(w.harvest(ctx, ended, harvest.Source{
		Supervisor: supervisor, Dir: w.dir, Ingest: w.ingest, Root: p.access.account.Root(), Lost: left.ingest == nil,
	}))
	end, err = judge.Run(ctx, end, judge.Signing{Key: p.Sign, Into: func() (*cas.Ingest, error) { return w.ingest, nil }}, time.Now())
	if err == nil {
		err = commit.Run(ctx, p.Host, p.Catalog, end, nil)
	}
	err = errors.Join(err, end.Harvest.Entries.Close())
	if err == nil {
		err = w.ingest.Close()
	}
	return end.Row, err
}

// recoveredWarning is for each run whose end gc has committed.
const recoveredWarning = "committed by recovery: scidex-oci was killed after the analysis had ended and before its result was committed"

// endOf returns the end of the analysis as its launcher noted it, with warnings about what only the launcher could do.
func endOf(left remains) (phase.Ended, error) {
	ended := left.ended
	ended.Key = left.row.Key
	if err := json.Unmarshal(left.row.Request, &ended.Analysis); err != nil {
		return ended, fmt.Errorf("read the recorded request: %w", err)
	}
	warnings := append(ended.Report.Warnings, recoveredWarning)
	if export := ended.Analysis.Export; export != "" {
		warnings = append(warnings, deliver.NothingWritten(export, ended.Key))
	}
	if left.ingest == nil {
		warnings = append(warnings, "the logs are lost: the directory that held them was gone")
	}
	ended.Report.Warnings = warnings
	return ended, nil
}
