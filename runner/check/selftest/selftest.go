// Package selftest proves that on this host an analysis cannot reach what it must not. It runs canaries, analyses of its
// own, through the whole pipeline (runner.Run) with the caller's flags: what is proven is what runs get.
//
// Package canary is that analysis: this program, which makes the attempts that a file names; package trials has them. The
// launcher makes the same attempts outside, as a control: one that fails there proves nothing inside. Package judge says
// what the outcomes prove.
package selftest

import (
	"cmp"
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/runner/check/probe"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/report"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// Run tests the host. It returns an error where it could not, a *probe.StoppedError where Stop ended it: then nothing is
// proven.
func Run(ctx context.Context, host *phase.Host, options Options) (_ report.Report, err error) {
	s, err := newSession(ctx, host, options)
	if err != nil {
		return report.Report{}, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.runs, ctx = probe.NewRuns(ctx, options.Stop)
	defer s.runs.Close()
	main, err := reach(ctx, s, options.Targets)
	if err == nil {
		err = testLimits(ctx, s, main)
	}
	if err != nil {
		return report.Report{}, cmp.Or(context.Cause(ctx), err)
	}
	return s.record.Finish(main.BootID)
}
