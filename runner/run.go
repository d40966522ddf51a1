package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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
	"github.com/scidex-ai/scidex-oci/runner/workspace"
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

// begin takes the run's lock and writes the intent row, the first trace of the run.
func (e *execution) begin(ctx context.Context) (err error) {
	if e.tenure, err = workspace.LockWait(e.Root, e.plan.Key); err != nil {
		if errors.Is(err, workspace.ErrLocked) {
			err = &request.Error{Err: fmt.Errorf("id %s was taken by another run at the same moment; try again or choose another", e.plan.Key.ID)}
		}
		return err
	}
	e.place = workspace.Location{Machine: workspace.MachineID(), Dir: workspace.RunDir(e.Tmp, e.plan.Key.ID), State: e.tenure.Path, Blobs: e.Blobs.URL()}
	if e.place.Catalog, err = e.Catalog.CatalogID(ctx); err != nil {
		return errors.Join(&request.CatalogError{Err: err}, e.tenure.Remove())
	}
	if e.place.Launcher, err = workspace.ThisLauncher(); err != nil {
		return errors.Join(err, e.tenure.Remove())
	}
	if e.plan.Parent != nil {
		e.groupName = uniqueGroup(e.plan.Key)
		e.place.Groups = e.plan.Parent.Plan(e.groupName)
	}
	e.run, err = e.newRun()
	if err == nil {
		err = e.tenure.Record(e.place)
	}
	if err == nil {
		err = e.insert(ctx)
	}
	if err == nil {
		return nil
	}
	return errors.Join(err, e.tenure.Remove())
}

// insert makes the row of the run.
func (e *execution) insert(ctx context.Context) error {
	switch err := e.Catalog.Create(ctx, e.run); {
	case errors.Is(err, catalog.ErrExists):
		return &request.Error{Err: fmt.Errorf("id %s was taken by another run at the same moment; choose another", e.plan.Key.ID)}
	case err != nil:
		return &request.CatalogError{Err: err}
	}
	return nil
}

func (e *execution) newRun() (catalog.Run, error) {
	host, err := os.Hostname()
	if err != nil {
		return catalog.Run{}, err
	}
	raw, err := json.Marshal(e.plan.Analysis)
	if err != nil {
		return catalog.Run{}, err
	}
	place, err := json.Marshal(e.place)
	if err != nil {
		return catalog.Run{}, err
	}
	e.report.Enforced = []result.Enforcement{} // until the limits are set
	e.report.Warnings = append(plan.InheritedWarnings(), e.plan.Warnings...)
	if e.request.Detached {
		e.report.Warnings = append(e.report.Warnings, plan.LogoutWarnings(e.place.Groups)...)
	}
	e.report.Sandbox = e.plan.Sandbox()
	return catalog.Run{
		Key: e.plan.Key, State: catalog.Running, CreatedAt: time.Now().UTC(),
		Labels: e.plan.Analysis.Labels, Request: raw, Place: place,
		Host: host, BootID: workspace.BootID(), ToolVersion: e.Version,
	}, nil
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

// left says what a run could not remove, and where it is.
func (e *execution) left() string {
	if workspace.IsInode(e.place.Dir, e.place) {
		return fmt.Sprintf("the working directory %q could not be removed", e.place.Dir)
	}
	return "not everything of the run could be removed"
}

// cleanUp removes what is left on the host. What it cannot remove is gc's, by the state file.
func (e *execution) cleanUp(ctx context.Context, keep bool) {
	cleaned := e.span("clean")
	err := e.clean(ctx, keep)
	cleaned()
	defer e.span("release")()
	err = errors.Join(err, e.release())
	if err != nil {
		e.report.Warnings = append(e.report.Warnings, e.left()+"; `scidex-oci gc` tries again: "+result.Sentence(err))
		e.tell(e.tenure.Close())
		return
	}
	e.tell(e.tenure.Remove())
}
