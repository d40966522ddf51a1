package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Line is one analysis to run: a line of a batch, or a request to an engine.
type Line struct {
	Number   int // from 1
	Analysis spec.Analysis
	Err      error // why it cannot be run
	Rerun    bool  // it is run as it is now, also if its id is complete or failed
	// Admit, if not nil, is called by the Work when all is ready for the analysis' first instruction. It returns when
	// that may start.
	Admit func(context.Context) error
	// Vacate, if not nil, is called by the Work when no process of the line's analysis is left: the next one may start
	// while this one's outputs are read and committed.
	Vacate func()
}

// Name is the id of a line, or its number if it has none.
func (l Line) Name() string {
	if l.Analysis.ID != "" {
		return l.Analysis.ID
	}
	return fmt.Sprintf("line %d", l.Number)
}

// LineResult is what became of a line.
type LineResult struct {
	Result result.Result
	// Err is why the catalog does not have this result.
	Err error
	// Passed says that the result is from an earlier batch; nothing was run.
	Passed bool
	// Changed says that the request or script of a line is not the recorded one any more. The line passed, or was refused for it.
	Changed bool
}

// Wall is how long the analysis took.
func (o LineResult) Wall() time.Duration {
	return time.Duration(o.Result.Usage.WallMS) * time.Millisecond
}

// Taken reports whether a line was refused because another run has its id.
func (o LineResult) Taken() bool {
	return errors.As(o.Err, new(*request.UsedError)) || o.Busy()
}

// Busy reports whether that one runs now.
func (o LineResult) Busy() bool { return errors.As(o.Err, new(*request.BusyError)) }

// Work runs a line, and returns when it has ended. stop is as in request.Request. Do is called by several goroutines.
type Work interface {
	Do(ctx context.Context, line Line, stop <-chan request.StopSignal) LineResult
}
