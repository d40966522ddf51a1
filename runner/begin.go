package runner

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/digest"
	"github.com/scidex-ai/scidex-oci/runner/execute"
	"github.com/scidex-ai/scidex-oci/runner/inputs/scan"
	"github.com/scidex-ai/scidex-oci/runner/limits"
	"github.com/scidex-ai/scidex-oci/runner/observe"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/signing"
	"github.com/scidex-ai/scidex-oci/runner/suspend"
	"github.com/scidex-ai/scidex-oci/runner/warm"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// run is one run from its intent row to its result. The values of its phases are handed on by finish.
type run struct {
	host   *phase.Host
	ledger phase.Ledger
	task   execute.Task
	space  *workspace.Workspace // that of the task
	tracer *trace.Tracer
}

// begin checks a request and writes its intent into the catalog.
func begin(ctx context.Context, host *phase.Host, req request.Request, launched *warm.Sandbox) (*run, error) {
	if err := checkKey(ctx, host.Sign); err != nil {
		return nil, &request.Error{Err: fmt.Errorf("no statement could be signed, so nothing is run: %w", err)}
	}
	return beginIn(ctx, host, host.Catalog, req, launched)
}

// checkKey reports why the statement could not be signed.
func checkKey(ctx context.Context, key signing.Key) error {
	if !key.Given() {
		return nil
	}
	return cmp.Or(checkKeyFile(key.File), key.Check(ctx))
}

// checkKeyFile refuses a key among the host's programs, which runs see.
func checkKeyFile(path string) error {
	resolved, err := filepath.EvalSymlinks(path)
	if path != "" && err == nil && (rootfs.HostShows(path) || rootfs.HostShows(resolved)) {
		return fmt.Errorf("%q is among the programs of the host, which analyses see; keep the key elsewhere, as in /etc/scidex-oci", path)
	}
	return nil
}

// beginIn is begin with another ledger for the intent.
func beginIn(ctx context.Context, host *phase.Host, ledger phase.Ledger, req request.Request, launched *warm.Sandbox) (*run, error) {
	tracer := trace.From(ctx)
	checked := tracer.Span(trace.Run, "check the request")
	if err := bind(ctx, host, req); err != nil {
		return nil, err
	}
	p, err := plan.New(ctx, host, req, launched)
	checked()
	if err != nil {
		return nil, request.Refusal(err)
	}
	defer tracer.Span(trace.Run, "write the intent")()
	suspender := cmp.Or(req.Suspender, &suspend.Suspender{})
	var space *workspace.Workspace
	err = suspender.Uninterrupted(func() (err error) {
		space, err = workspace.Begin(ctx, host, ledger, workspace.Intent{Key: p.Key, Analysis: p.Analysis, Account: p.Account, Limits: p.Limits})
		return err
	})
	if err != nil {
		return nil, p.OrClose(err)
	}
	return &run{host: host, ledger: ledger, space: space, tracer: tracer, task: execute.Task{
		Request: req, Plan: p, Space: space, Warm: launched, Suspender: suspender,
		Observer: observe.New(req.Observe, space.Run), Digests: digest.New(host, p), Report: firstReport(req, p, space),
	}}, nil
}

// bind checks that catalog and blob store belong together. A stop request ends the wait for a server that does not answer.
func bind(ctx context.Context, host *phase.Host, req request.Request) error {
	waiting, release := request.UntilStop(ctx, req.Stop, scan.TellAfter)
	err := store.Bind(waiting, host.Catalog, host.Blobs)
	if stopped := release(); stopped != nil {
		return stopped
	}
	if err != nil {
		return &request.CatalogError{Err: err}
	}
	return nil
}

// firstReport is the report of a run before its execution.
func firstReport(req request.Request, p *plan.Plan, space *workspace.Workspace) result.Report {
	warnings := slices.Concat(req.Warnings, limits.Inherited(), p.Warnings)
	if req.Detached {
		warnings = append(warnings, plan.LogoutWarnings(space.Location.Groups)...)
	}
	return result.Report{Enforced: []result.Enforcement{}, Sandbox: p.Sandbox(), Warnings: warnings}
}

// closeInputs closes all that the plan has opened.
func (r *run) closeInputs() {
	defer r.span("close the inputs")()
	r.space.Warn(r.task.Plan.Close())
}

// span starts a phase of what the run waits for.
func (r *run) span(name string) (end func()) { return r.tracer.Span(trace.Run, name) }
