package request

import (
	"context"
	"io"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
	"github.com/scidex-ai/scidex-oci/runner/standby"
	"github.com/scidex-ai/scidex-oci/runner/suspend"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Model is the run that a request repeats; its ID is empty where there is none.
func (req Request) Model(key catalog.Key) catalog.Key {
	if req.Again {
		return catalog.Key{ID: key.ID, Attempt: key.Attempt - 1}
	}
	return req.Replay
}

// Request is one call of Run.
type Request struct {
	Analysis spec.Analysis
	// Again runs a further attempt of an id that may be complete or failed; Analysis.ID names it.
	Again bool
	// AnyRoot lets a further attempt run on what its image is now; else it must be what the last one ran on.
	AnyRoot bool
	// Replay names the run whose script and root filesystem this one is to have; Analysis.ID is another then.
	Replay catalog.Key
	// Reuse answers with the result of a complete run of the same action, where there is one. DigestInputs must be full.
	Reuse bool
	// Begun is what was begun for this run before it; nil: Run begins it itself. Run takes it over.
	Begun *standby.Standby
	// NoAudit leaves the analysis' connections to the kernel alone: nothing is noted of what was refused.
	NoAudit bool
	// Hook, where not nil, gets the result after the commit.
	Hook *Hook
	// Overwrite lets Export write into a directory that is not empty.
	Overwrite bool
	// Stdout and Stderr receive the analysis' streams as they come.
	Stdout, Stderr io.Writer
	// Observe, where not nil, is told what happens, by several goroutines, but for the end: event.TypeFinished is the
	// caller's to tell, of the result. The data of event.TypeStarted are a Result. It must not wait for long. Its first
	// error becomes a warning of the result, and changes nothing else.
	Observe func(event.Event) error
	// Detached runs are to outlive the session of their caller: the result warns of what would end them with it.
	Detached bool
	// Scanning, where not nil, is called about twice a second while the directory of a flag is being
	// looked through before the start, where that takes longer than two seconds; entries are those so far.
	Scanning func(flag string, entries int64)
	// Stop ends the analysis: the first receive sends SIGTERM and grants the grace period, the second
	// ends it at once.
	Stop <-chan StopSignal
	// Suspender, where not nil, can suspend the analysis while it runs.
	Suspender *suspend.Suspender
	// Admit, where not nil, is called once all is ready but for the analysis' first instruction, and returns when that
	// may begin. Its context ends with a wish to stop.
	Admit func(context.Context) error
}
