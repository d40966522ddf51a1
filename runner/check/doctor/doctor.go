// Package doctor tries on this very host, by doing it, everything that a run needs, one thing after the other,
// and says what is missing, what that means for runs and what cures it. The last probe is a run.
//
// What changes namespaces, mounts or filters is done by a child of ours that is alone in its namespaces and ends
// after it (child, trial), so that nothing of it is left and this process stays as it was. The steps are those
// of the supervisor (sandbox.Rehearse*), the control groups those of runs (runner/cgroup), and the run goes
// through the ordinary pipeline (runner.Run), on a root that is thrown away: nothing gets into the caller's
// catalog.
package doctor

import (
	"context"
	"errors"
	"os"

	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Options say whose runs are to work.
type Options struct {
	// Analysis holds the flags of those runs: limits, ids, inputs. What to run is ours.
	Analysis spec.Analysis
	// NoAudit is as in the requests of those runs.
	NoAudit bool
	// Root is the caller's (--root), Tmp the place of working directories.
	Root, Tmp string
	// MinFree is what both are to keep free.
	MinFree sandbox.Floor
	// Catalog opens the caller's catalog and blob store, looks whether they belong together, and closes them. It
	// makes none: it says so where there is none yet.
	Catalog func(ctx context.Context) (seen string, err error)
	// PostgreSQL is the catalog's URL without a password, empty where it is in SQLite.
	PostgreSQL string
	// Open makes a catalog and a blob store in the empty directory root, or opens those that are there, and
	// returns a runner for them as the caller's flags have it.
	Open func(ctx context.Context, root string) (*phase.Host, error)
	// Version of the program.
	Version string
	// Stop ends the examination, as it ends a run.
	Stop <-chan request.StopSignal
}

// StoppedError is returned by Run when Stop has ended it.
type StoppedError struct{ Signal request.StopSignal }

func (e *StoppedError) Error() string { return "stopped by " + e.Signal.Name }

// examination is one call of Run.
type examination struct {
	options  Options
	analysis spec.Analysis // the flags, with their defaults
	account  sandbox.Account
	host     host
	around   around
	report   Report
	stop     chan request.StopSignal // of the run
	home     home
}

// Run examines the host. An error says that it could not: nothing is known then.
func Run(ctx context.Context, options Options) (report Report, err error) {
	e := &examination{options: options, analysis: options.Analysis.WithDefaults(), stop: make(chan request.StopSignal, 2)}
	e.report.Summary = Summary{Limits: RungNone, IDs: "none", UIDOnHost: -1, SocketWall: "none"}
	if e.account, err = sandbox.ReadAccount(); err != nil {
		return e.report, err
	}
	e.host = host{root: "/", getenv: os.Getenv, admin: e.account.Root()}
	e.around = e.host.lookAround()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go e.relay(done, cancel)
	defer func() { err = errors.Join(err, e.home.close()) }()
	for _, probe := range []func(context.Context){
		e.namespaces, e.settings, e.groups, e.storage, e.runs,
	} {
		probe(ctx)
		if ctx.Err() != nil {
			return e.report, context.Cause(ctx)
		}
	}
	e.report.settle()
	return e.report, e.report.stamp(options.Version)
}

// relay ends the probes with the first signal and passes all on to a run, which ends by itself.
func (e *examination) relay(done <-chan struct{}, cancel context.CancelCauseFunc) {
	for {
		select {
		case s := <-e.options.Stop:
			cancel(&StoppedError{s})
			select {
			case e.stop <- s:
			default: // the run acts on two
			}
		case <-done:
			return
		}
	}
}

func (e *examination) add(f Finding) { e.report.Findings = append(e.report.Findings, f) }

// skip adds a finding of what was not tried because of another.
func (e *examination) skip(code, after string) {
	e.add(Finding{Code: code, Status: Skipped, Seen: "not tried", Means: "nothing is known", After: after})
}

// needless adds a finding of what nobody needs here.
func (e *examination) needless(code, why string) {
	e.add(Finding{Code: code, Status: Skipped, Seen: why, Means: "runs do without"})
}
