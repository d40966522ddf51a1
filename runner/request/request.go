package request

import (
	"context"
	"io"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
	"github.com/scidex-ai/scidex-oci/runner/suspend"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Model is the run that a request repeats; its ID is empty if there is none.
func (req Request) Model(key catalog.Key) catalog.Key {
	if req.Again {
		return catalog.Key{ID: key.ID, Attempt: key.Attempt - 1}
	}
	return req.Replay
}

// Caller is what hints need of the process that asked for a run.
type Caller struct {
	Dir         string // its working directory
	Environment string // its active environment (VIRTUAL_ENV or CONDA_PREFIX); empty: none
	Root        bool   // it is the host's root
	Line        bool   // the analysis is a line that a person wrote for a batch
}

// Switches are what a command asks of each of its runs. Whoever makes requests embeds them, so that a further one is passed on.
type Switches struct {
	// AnyRoot lets a further attempt run on its image's current root; else it must be the last one's.
	AnyRoot bool
	// Overwrite lets Export write into a directory that is not empty.
	Overwrite bool
	// NoAudit leaves the analysis' connections to the kernel: refused ones are not recorded.
	NoAudit bool
}

// Request is what a caller asks for: one run.
type Request struct {
	Analysis spec.Analysis
	Switches
	// Again runs a further attempt of an id that may be complete or failed; Analysis.ID names it.
	Again bool
	// Rerun runs a further attempt too, but of what the request names now: nothing of the last attempt is used.
	Rerun bool
	// AnyScript runs a further attempt of the script's file as it is now; else it is what the last one has kept of that file.
	AnyScript bool
	// Replay names the run whose script and root filesystem this one uses; then Analysis.ID differs.
	Replay catalog.Key
	// Reuse returns the result of a complete run of the same action, if any. DigestInputs must be full.
	Reuse bool
	// Caller is for hints, and for what a mistyped path may have meant.
	Caller Caller
	// Hook, if not nil, gets the result after the commit.
	Hook *Hook
	// Stdin is passed on to the analysis as it reads, at most stdin.Max bytes; nil: it is empty. A *stdin.Known is kept whole.
	Stdin io.Reader
	// Stdout and Stderr receive the analysis' streams as they come.
	Stdout, Stderr io.Writer
	// Terminal, if not nil, is the analysis' three streams instead of Stdin, Stdout and Stderr, and its controlling
	// terminal.
	Terminal *os.File
	// Command, if not nil, is run instead of the analysis' command or script, which is still shown.
	Command []string
	// Observe, if not nil, receives all events, from several goroutines, except the end: the caller makes
	// event.TypeFinished from the result. The data of event.TypeStarted are a Result. It must not block for long. Its first
	// error becomes a warning of the result, and changes nothing else.
	Observe func(event.Event) error
	// Parent is the trace context of who asked for the run; the zero Context is that of the process.
	Parent spans.Context
	// Warnings are the first ones of the result.
	Warnings []string
	// Detached runs outlive the session of their caller: the result warns of what would end them with it.
	Detached bool
	// Waiting, if not nil, is called with what the run waits for before its start, in a few words, if that may take seconds.
	Waiting func(what string)
	// Stop ends the analysis: the first receive sends SIGTERM and grants the grace period, the second one kills it.
	Stop <-chan StopSignal
	// Suspender, if not nil, can suspend the analysis while it runs.
	Suspender *suspend.Suspender
	// Admit, if not nil, is called when everything is ready for the analysis' first instruction, and returns when it may
	// start. A stop request cancels its context.
	Admit func(context.Context) error
}
