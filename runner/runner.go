// Package runner takes one analysis from its manifest to a committed result: it opens the inputs, writes the intent, drives
// the sandbox, harvests, commits and cleans. The phases are in run.go; what is not part of every run is around them, each a Runner
// of its own.
package runner

import (
	"context"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/warm"
)

// Runner runs analyses.
type Runner interface {
	// Run executes one analysis and returns its result, which is complete in any case. The error is not nil only if the catalog
	// does not have the result: a *request.Error for a request refused before anything was made, or why the end could not be
	// committed; the result then has state error. With phase.ErrSuperseded it is the result that was not committed.
	Run(ctx context.Context, req request.Request) (result.Result, error)
}

// New returns the runner of a host. It may be used for several runs at once if start may.
func New(host *phase.Host, start warm.Start) Runner {
	phases := phases{host, start}
	return traced{repeating{reusing{phases}, host}, host.Spans}
}
