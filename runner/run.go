package runner

import (
	"cmp"
	"context"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/commit"
	"github.com/scidex-ai/scidex-oci/runner/harvest"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/replay"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/standby"
	"github.com/scidex-ai/scidex-oci/runner/suspend"
)

// Run executes one analysis and returns its result, which is complete in any case. The error is not nil only where the
// catalog does not have the result: a *request.Error for a request refused before anything was made, or why the end could
// not be committed. The result then has state error.
func Run(ctx context.Context, host *phase.Host, req request.Request) (result.Result, error) {
	started := req.Standby
	if started == nil {
		var err error
		if started, err = standby.Begin(ctx, req.Analysis.Limits); err != nil {
			return Refused(req.Analysis, err, host.Version), err
		}
	}
	var unused string
	if req.Reuse {
		res, found, why, err := replay.Reuse(ctx, host, req, started)
		switch {
		case found && err == nil:
			started.Drop()
			return res, nil
		case err != nil:
			started.Drop()
			return Refused(req.Analysis, err, host.Version), err
		}
		unused = why
	}
	e, err := accept(ctx, host, req, started)
	if err != nil {
		started.Drop()
		return Refused(req.Analysis, err, host.Version), err
	}
	if unused != "" {
		e.report.Warnings = append(e.report.Warnings, "no earlier run was looked for: "+unused)
	}
	e.observeCreation()
	defer started.Cool()
	defer func() {
		defer e.span("close the inputs")()
		e.tell(e.plan.Close())
	}()
	return e.finish(ctx)
}

// accept checks a request and writes its intent.
func accept(ctx context.Context, host *phase.Host, req request.Request, launched *standby.Standby) (*execution, error) {
	tracer := trace.From(ctx)
	checked := tracer.Span(trace.Run, "check the request")
	err := store.Bind(ctx, host.Catalog, host.Blobs)
	if err != nil {
		return nil, err
	}
	p, err := plan.New(ctx, host, req, launched)
	checked()
	if err != nil {
		return nil, request.Refusal(err)
	}
	e := &execution{Host: host, harvested: harvest.Nothing(), plan: p, request: req, launched: launched, suspender: cmp.Or(req.Suspender, &suspend.Suspender{}), trace: tracer}
	defer e.span("write the intent")()
	return e, p.OrClose(e.suspender.Steady(func() error { return e.begin(ctx) }))
}

// finish runs the analysis, then commits, exports and cleans. Nothing is removed before the commit.
func (e *execution) finish(ctx context.Context) (result.Result, error) {
	// A stop request comes through the request; what is half done is finished.
	ctx = context.WithoutCancel(ctx)
	failure := e.execute(ctx)
	e.harvested.Report(&e.report)
	e.noteInputs(ctx) // the script is part of the action
	concluded := e.span("commit")
	f, err := e.commit(ctx, failure)
	concluded()
	if err != nil {
		err = e.keepOutcome(ctx, err)
		e.tell(e.release())
		e.tell(e.tenure.Close()) // gc finds the directory, whole, by the state file
		return e.result(judge.Outcome{State: catalog.Error, Reason: result.ReasonCommit, ExitCode: result.ExitError, Signal: f.Outcome.Signal, Message: result.Sentence(err)}), err
	}
	delivered := e.span("hook and export")
	v, keep := e.postProcess(ctx, f, failure)
	v = e.export(ctx, v)
	delivered()
	e.cleanUp(ctx, keep)
	return e.result(v), nil
}

// commit judges a run and commits its end.
func (e *execution) commit(ctx context.Context, failure *judge.Failure) (commit.Final, error) {
	if e.outer == nil {
		e.warn(plan.LimitWarnings(e.report.Enforced)...)
	}
	e.warn(e.observer.warnings()...)
	f, err := commit.Judge(commit.End{
		Row: e.run, Ended: e.ended(), Harvest: e.harvested, Failure: failure, Place: e.place, WorkGone: e.workGone(), HasWork: e.dir != nil,
	}, time.Now())
	e.run, e.report = f.Row, f.Report
	e.noted.Wait()
	if err != nil {
		return f, err
	}
	stores := commit.Stores{Ledger: e.Catalog, Blobs: e.Blobs, Timeout: e.CommitTimeout, Log: e.Log}
	return f, e.suspender.Steady(func() error { return stores.Run(ctx, e.run, e.harvested.Entries, e.request.Stop) })
}

// workGone reports whether a /work in memory is lost, as it is with its supervisor.
func (e *execution) workGone() bool { return e.supervisor == nil || !e.supervisor.Alive() }

// warn adds warnings to the result.
func (e *execution) warn(warnings ...string) {
	e.report.Warnings = append(e.report.Warnings, warnings...)
}

// span starts a phase of what the run waits for.
func (e *execution) span(name string) (end func()) { return e.trace.Span(trace.Run, name) }
