// Package doctor examines a host: it tries everything that a run needs, step by step, and reports what is missing, what that
// means for runs and what helps. The last probe is a run.
//
// What changes namespaces, mounts or filters happens in a child process with its own namespaces, so that nothing is left and
// this process is unchanged. The probes are steps of the supervisor (supervisor.Rehearse*, rootmount.Rehearse*), the
// control groups those of runs (runner/cgroup). The run goes through the whole pipeline (runner.Run) with a root that is
// removed afterwards: nothing gets into the caller's catalog.
package doctor

import (
	"context"
	"errors"
	"os"

	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/outer"
	"github.com/scidex-ai/scidex-oci/runner/check/probe"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/idmap"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Options describe the runs to check.
type Options struct {
	// Analysis holds the flags of those runs: limits, ids, inputs. Its command is ignored.
	Analysis spec.Analysis
	// NoAudit is as in the requests of those runs.
	NoAudit bool
	// Root is the caller's (--root), Tmp the directory of working directories (--tmp).
	Root, Tmp string
	// MinFree is how much space both must keep free.
	MinFree freespace.Floor
	// Catalog opens the caller's catalog and blob store, checks that they belong together, and closes them. It creates
	// neither, and reports a missing one.
	Catalog func(ctx context.Context) (seen string, err error)
	// PostgreSQL is the catalog's URL without a password, empty where the catalog is in SQLite.
	PostgreSQL string
	// Open creates a catalog and a blob store in the empty directory root, or opens existing ones, and returns a Host for
	// them with the caller's flags.
	Open func(ctx context.Context, root string) (*phase.Host, error)
	// Version of the program.
	Version string
	// Stop ends the examination, as it ends a run.
	Stop <-chan request.StopSignal
}

// Main takes over the process if Run started it as a child; then it does not return. Call it first in main, and in TestMain
// of every test that examines a host.
func Main() {
	probe.Main(func() (all []probe.Probe) {
		for _, p := range childProbes() {
			all = append(all, p.Probe)
		}
		return all
	})
}

// examination is one call of Run.
type examination struct {
	options  Options
	analysis spec.Analysis // the flags, with their defaults
	account  idmap.Account
	host     host
	around   surroundings
	held     cgroup.Limits // by the control groups around this
	report   Report
	runs     *probe.Runs
	root     tempRoot
}

// Run examines the host. It returns an error where it could not, a *probe.StoppedError where Stop ended it.
func Run(ctx context.Context, options Options) (report Report, err error) {
	e := &examination{options: options, analysis: options.Analysis.WithDefaults()}
	e.report.Summary = Summary{Limits: LimitsByNone, IDs: "none", UIDOnHost: -1, SocketWall: "none"}
	if e.account, err = idmap.ReadAccount(); err != nil {
		return e.report, err
	}
	e.host = host{root: "/", getenv: os.Getenv, admin: e.account.Root()}
	e.around = e.host.surroundings()
	e.held = outer.Find(os.Getpid()).Held().Limits
	e.runs, ctx = probe.NewRuns(ctx, options.Stop)
	defer e.runs.Close()
	defer func() { err = errors.Join(err, e.root.remove()) }()
	for _, check := range []func(context.Context){
		e.checkNamespaces, e.checkSettings, e.checkControlGroups, e.checkStorage, e.checkRuns,
	} {
		check(ctx)
		if ctx.Err() != nil {
			return e.report, context.Cause(ctx)
		}
	}
	e.report.settle()
	return e.report, e.report.stamp(options.Version)
}

func (e *examination) add(f Finding) { e.report.Findings = append(e.report.Findings, f) }

// skip adds a finding of what was not tried because another probe failed.
func (e *examination) skip(code, after string) {
	e.add(Finding{Code: code, Status: Skipped, Seen: "not tried", Means: "nothing is known", After: after})
}

// needless adds a finding of what runs do not need here.
func (e *examination) needless(code, why string) {
	e.add(Finding{Code: code, Status: Skipped, Seen: why, Means: "runs do without"})
}
