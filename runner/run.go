package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Run executes one analysis and returns its result. The result is complete whatever happened. The error
// is not nil only where the run is not in the catalog as the result says: a *RequestError for a request
// that was refused before anything was made, or why the end could not be committed. The result then has
// state error.
func Run(ctx context.Context, host *phase.Host, req Request) (result.Result, error) {
	begun := req.Begun
	if begun == nil {
		var err error
		if begun, err = Begin(ctx, req.Analysis.Limits); err != nil {
			return Refused(req.Analysis, err, host.Version), err
		}
	}
	var unused string
	if req.Reuse {
		result, found, why, err := reuse(ctx, host, req, begun.launching)
		switch {
		case found && err == nil:
			begun.Drop()
			return result, nil
		case err != nil:
			begun.Drop()
			return Refused(req.Analysis, err, host.Version), err
		}
		unused = why
	}
	e, err := accept(ctx, host, req, begun.launching)
	if err != nil {
		begun.Drop()
		return Refused(req.Analysis, err, host.Version), err
	}
	if unused != "" {
		e.report.Warnings = append(e.report.Warnings, "no earlier run was looked for: "+unused)
	}
	e.observeCreation()
	defer begun.launching.cool()
	defer func() {
		defer e.span("close the inputs")()
		e.tell(e.plan.close())
	}()
	return e.finish(ctx)
}

// accept checks a request and writes its intent.
func accept(ctx context.Context, host *phase.Host, req Request, launched *launching) (*execution, error) {
	tracer := trace.From(ctx)
	checked := tracer.Span(trace.Run, "check the request")
	err := Bind(ctx, host)
	if err != nil {
		return nil, err
	}
	p, err := prepare(ctx, host, req, launched)
	checked()
	if err != nil {
		return nil, refusal(err)
	}
	e := &execution{Host: host, plan: p, request: req, launched: launched, suspender: cmp.Or(req.Suspender, &Suspender{}), trace: tracer}
	defer e.span("write the intent")()
	return e, p.orClose(e.suspender.steady(func() error { return e.begin(ctx) }))
}

// refusal is a RequestError, but for a catalog that could not be asked.
func refusal(err error) error {
	var unusable *CatalogError
	if errors.As(err, &unusable) {
		return err
	}
	return &RequestError{err}
}

// begin takes the run's lock and writes the intent row: the first trace of the run.
func (e *execution) begin(ctx context.Context) (err error) {
	if e.tenure, err = take(e.Root, e.plan.key); err != nil {
		if errors.Is(err, errAlive) {
			err = &RequestError{fmt.Errorf("id %s was taken by another run at the same moment; try again or choose another", e.plan.key.ID)}
		}
		return err
	}
	e.place = Place{Machine: machine(), Dir: runDir(e.Tmp, e.plan.key.ID), State: e.tenure.path, Blobs: e.Blobs.URL()}
	if e.place.Catalog, err = e.Catalog.CatalogID(ctx); err != nil {
		return errors.Join(&CatalogError{err}, e.tenure.end())
	}
	if e.place.Launcher, err = thisLauncher(); err != nil {
		return errors.Join(err, e.tenure.end())
	}
	if e.plan.parent != nil {
		e.groupName = uniqueGroup(e.plan.key)
		e.place.Groups = e.plan.parent.Plan(e.groupName)
	}
	e.run, err = e.newRun()
	if err == nil {
		err = e.tenure.record(e.place)
	}
	if err == nil {
		err = e.insert(ctx)
	}
	if err == nil {
		return nil
	}
	return errors.Join(err, e.tenure.end())
}

// insert makes the row of the run.
func (e *execution) insert(ctx context.Context) error {
	switch err := e.Catalog.Create(ctx, e.run); {
	case errors.Is(err, catalog.ErrExists):
		return &RequestError{fmt.Errorf("id %s was taken by another run at the same moment; choose another", e.plan.key.ID)}
	case err != nil:
		return &CatalogError{err}
	}
	return nil
}

func (e *execution) newRun() (catalog.Run, error) {
	host, err := os.Hostname()
	if err != nil {
		return catalog.Run{}, err
	}
	request, err := json.Marshal(e.plan.analysis)
	if err != nil {
		return catalog.Run{}, err
	}
	place, err := json.Marshal(e.place)
	if err != nil {
		return catalog.Run{}, err
	}
	e.report.Enforced = []result.Enforcement{} // until the limits are set
	e.report.Warnings = append(inheritedWarnings(), e.plan.warnings...)
	if e.request.Detached {
		e.report.Warnings = append(e.report.Warnings, logoutWarnings(e.place.Groups)...)
	}
	e.report.Sandbox = e.plan.sandbox()
	return catalog.Run{
		Key: e.plan.key, State: catalog.Running, CreatedAt: time.Now().UTC(),
		Labels: e.plan.analysis.Labels, Request: request, Place: place,
		Host: host, BootID: BootID(), ToolVersion: e.Version,
	}, nil
}

func (p *plan) sandbox() result.Sandbox {
	s := result.Sandbox{
		UserNamespace: true, Network: "none", Seccomp: "enforced", Rootfs: p.analysis.Rootfs,
		UIDOnHost: p.account.HostUID(p.slot.Analysis), IDs: p.analysis.IDs, Audit: "on",
	}
	p.base.origin(&s)
	if !p.audit {
		s.Audit = "off"
	}
	if p.single() {
		s.Groups = p.account.Groups
	}
	return s
}

// BootID is random_boot_id of the kernel (proc_sys_kernel(5)); empty where there is none.
func BootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// finish runs the analysis and sees it committed, exported and cleaned. Nothing is removed before the
// commit.
func (e *execution) finish(ctx context.Context) (result.Result, error) {
	// The wish to stop comes through the request; what is half done is to be finished.
	ctx = context.WithoutCancel(ctx)
	reason, failure := e.do(ctx)
	e.noteInputs(ctx)
	concluded := e.span("commit")
	v, keep, err := e.conclude(ctx, reason, failure)
	concluded()
	if err != nil {
		err = e.keepOutcome(ctx, err)
		e.tell(e.release())
		e.tell(e.tenure.close()) // gc finds the directory, whole, by the state file
		return e.result(verdict{catalog.Error, result.ReasonCommit, result.ExitError, v.signal, sentence(err)}), err
	}
	delivered := e.span("hook and export")
	v, keep = e.postProcess(ctx, v, reason, keep)
	v = e.export(ctx, v)
	delivered()
	e.cleanUp(ctx, keep)
	return e.result(v), nil
}

// conclude judges a run and commits its end. keep says whether its working directory stays.
func (e *execution) conclude(ctx context.Context, reason result.Reason, failure error) (v verdict, keep bool, err error) {
	if e.outer == nil {
		e.report.Warnings = append(e.report.Warnings, limitWarnings(e.report.Enforced)...)
	}
	e.report.Warnings = append(e.report.Warnings, e.observer.warnings()...)
	v = e.verdict(reason, failure)
	committed := e.due(v)
	keep = e.keeps(committed, reason)
	if keep && e.dir != nil {
		e.report.Kept = e.place.Dir
	}
	e.noted.Wait()
	return v, keep, e.suspender.steady(func() error { return e.commit(ctx, committed) })
}

// verdict says how the run ended. A bad end of the analysis wins over a failure of the harvest; a failure
// of ours after a good end is an error.
func (e *execution) verdict(reason result.Reason, failure error) verdict {
	v := verdict{catalog.Error, reason, result.ExitError, "", ""}
	if failure != nil {
		v.message = sentence(failure)
		if reason != result.ReasonHarvest {
			if reason == result.ReasonSupervisorLost {
				v.state = catalog.Lost
			}
			return v
		}
	}
	judged := judge(e.ending(e.plan.declared.Missing()))
	if failure != nil && (judged.exitCode == 0 || judged.reason == result.ReasonOutputMissing) {
		return v
	}
	if failure != nil {
		e.report.Warnings = append(e.report.Warnings, "the harvest is not complete: "+sentence(failure))
	}
	e.report.Warnings = append(e.report.Warnings, e.memoryWarnings(judged)...)
	return judged
}

// ending is how the analysis ended, with the declared outputs that are missing.
func (e *execution) ending(missing []string) ending {
	return ending{
		exit: e.exit, evidence: e.report.Evidence, stopped: e.endedByStop(),
		timeout: time.Duration(e.plan.analysis.Timeout), memory: int64(e.plan.analysis.Memory), pids: e.pidsLimit(),
		usage: e.report.Usage, outer: e.outer != nil,
		bound:   e.plan.bound(),
		command: e.plan.command[0], missing: missing,
	}
}

// keeps reports whether the working directory stays: because that was asked for, or because what is in
// it could not be harvested.
func (e *execution) keeps(v verdict, failed result.Reason) bool {
	switch {
	case e.plan.inMemory() && (e.supervisor == nil || !e.supervisor.Alive()):
		return false // /work is gone with its supervisor
	case failed == result.ReasonHarvest || failed == result.ReasonSupervisorLost && e.place.Ended || failed == result.ReasonSandbox && e.exit.Executed:
		return true
	case e.plan.analysis.Keep == spec.KeepAlways:
		return true
	default:
		return e.plan.analysis.Keep == spec.KeepFailed && v.state != catalog.Complete
	}
}

// export delivers the outputs where that was asked for; a failure makes a run of ours an error.
func (e *execution) export(ctx context.Context, v verdict) verdict {
	dir := e.plan.analysis.Export
	if dir == "" {
		return v
	}
	err := Export(ctx, e.Host, e.run, dir, e.request.Overwrite)
	if err == nil {
		return v
	}
	if v.state == catalog.Complete {
		v.state, v.reason, v.exitCode = catalog.Error, result.ReasonExport, result.ExitError
		v.message = sentence(err)
		e.run.State, e.run.Reason, e.run.Message, e.run.ExitCode = v.state, string(v.reason), v.message, v.exitCode
		e.tell(e.Catalog.Amend(ctx, e.run))
		return v
	}
	e.report.Warnings = append(e.report.Warnings, "the export is not complete: "+sentence(err))
	return v
}

// span begins a phase of what the run waits for.
func (e *execution) span(name string) (end func()) { return e.trace.Span(trace.Run, name) }

// left says what a run could not remove, and where it is.
func (e *execution) left() string {
	if isInode(e.place.Dir, e.place) {
		return fmt.Sprintf("the working directory %q could not be removed", e.place.Dir)
	}
	return "not everything of the run could be removed"
}

// cleanUp removes what is left on the host. What cannot be removed now is gc's: the state file stays.
func (e *execution) cleanUp(ctx context.Context, keep bool) {
	cleaned := e.span("clean")
	err := e.clean(ctx, keep)
	cleaned()
	defer e.span("release")()
	err = errors.Join(err, e.release())
	if err != nil {
		e.report.Warnings = append(e.report.Warnings, e.left()+"; `scidex-oci gc` tries again: "+sentence(err))
		e.tell(e.tenure.close())
		return
	}
	e.tell(e.tenure.end())
}
