package recovery

import (
	"context"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/recovery/outcomes"
	"github.com/scidex-ai/scidex-oci/runner/recovery/pass"
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
	p, err := pass.New(ctx, host, false)
	if err != nil {
		host.Log.Warn("results that wait to be committed", "error", err)
		return nil
	}
	defer p.Close()
	outcomes.CommitBriefly(ctx, p)
	for _, err := range p.Report.Errors {
		host.Log.Warn("a result waits to be committed", "error", err)
	}
	return p.Report.Committed
}
