package plan

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/runner/inputs/scan"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// scanInputs scans everything that a run binds. The first stop request ends a long scan.
func scanInputs(ctx context.Context, host *phase.Host, p *Plan, req request.Request) error {
	defer trace.From(ctx).Span(trace.Run, "look through the inputs")()
	ctx, release := request.UntilStop(ctx, req.Stop, scan.TellAfter)
	s := scan.Scanner{Dir: filepath.Join(host.Root, "scans"), Reader: p.reader(), Log: host.Log}
	err := p.Inputs.Scan(ctx, s, req.Waiting)
	return cmp.Or(release(), err)
}
