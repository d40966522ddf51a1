// Package doctor examines a host: it tries everything that a run needs, step by step, and reports what is missing, what that
// means for runs and what helps. The last check is a run. All checks are the rows of one list (examination.checks).
//
// The steps are those of the supervisor (supervisor.Rehearse*, rootmount.Rehearse*), the control groups those of runs
// (runner/cgroup). The run goes through the whole pipeline (runner.Runner) with a root that is removed afterwards: nothing gets
// into the caller's catalog.
package doctor

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/outer"
	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
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
	// PostgreSQL is the catalog's URL without a password, empty if the catalog is in SQLite.
	PostgreSQL string
	// Open creates a catalog and a blob store in the empty directory root, or opens existing ones, and returns a Host for
	// them with the caller's flags.
	Open func(ctx context.Context, root string) (*phase.Host, error)
	// Version of the program.
	Version string
	// Stop ends the examination, as it ends a run.
	Stop <-chan request.StopSignal
}

// Report is the result of an examination; docs/schema/doctor.json describes its JSON.
type Report struct {
	V     int  `json:"v"`     // 1
	Works bool `json:"works"` // nothing failed
	check.Stamp
	ToolVersion string          `json:"tool_version"`
	Summary     Summary         `json:"summary"`
	Findings    []check.Finding `json:"findings"`
}

// Summary says what the findings mean for runs.
type Summary struct {
	// Run is "run works with the defaults", or what does not.
	Run string `json:"run"`
	// Limits says what limits memory, CPU, processes.
	Limits LimitsBy `json:"limits"`
	// IDs is "range", "self", or "none" if no run can start.
	IDs string `json:"ids"`
	// UIDOnHost is the host's id of an analysis; -1 if no run can start.
	UIDOnHost int `json:"uid_on_host"`
	// SocketWall is what keeps sockets in bound directories out of reach: "overlay", "scan", or "none" if no run can start.
	SocketWall string `json:"socket_wall"`
}

// LimitsBy is what holds the limits of runs (runner/cgroup).
type LimitsBy string

// What holds limits, the best first.
const (
	LimitsBySystemd    LimitsBy = "systemd"     // cgroup v2 in a scope of systemd
	LimitsByDelegated  LimitsBy = "delegated"   // cgroup v2 in a delegated subtree
	LimitsByV1         LimitsBy = "v1"          // cgroup v1, as root
	LimitsByOuter      LimitsBy = "outer"       // a control group around this process
	LimitsByBestEffort LimitsBy = "best-effort" // rlimits and a watchdog
	LimitsByNone       LimitsBy = "none"        // runs are refused
)

// Main takes over the process if Run started it as a child; then it does not return. Call it first in main, and in TestMain
// of every test that examines a host.
func Main() { check.Main(new(examination).checks) }

// examination is one call of Run.
type examination struct {
	check.Checker
	options  Options
	analysis spec.Analysis // the flags, with their defaults
	host     host
	around   surroundings
	held     cgroup.Limits // by the control groups around this
	groups   groups        // set by the check of the parent group
	runs     *check.Runs
	root     tempRoot
	opened   *phase.Host // in root; set by the check of a run
	summary  Summary
	unheld   []string // limits that the run left to control groups around it and that none enforces
}

// Run examines the host. It returns an error if it could not, a *check.StoppedError if Stop ended it.
func Run(ctx context.Context, options Options) (report Report, err error) {
	e := &examination{options: options, analysis: options.Analysis.WithDefaults()}
	e.summary = Summary{Limits: LimitsByNone, IDs: "none", UIDOnHost: -1, SocketWall: "none"}
	if e.Account, err = idmap.ReadAccount(); err != nil {
		return report, err
	}
	e.host = host{root: "/", getenv: os.Getenv, admin: e.Account.Root()}
	e.around = e.host.surroundings()
	e.held = outer.Find(os.Getpid()).Held().Limits
	e.runs, ctx = check.NewRuns(ctx, options.Stop)
	defer e.runs.Close()
	defer func() { err = errors.Join(err, e.close()) }()
	if err := e.Check(ctx, e.checks()...); err != nil {
		return report, err
	}
	return e.report()
}

// report draws the conclusions. If the run worked, what failed before it is a warning, except in the caller's root, catalog
// and blobs, which the run did not use.
func (e *examination) report() (report Report, err error) {
	report = Report{V: 1, Summary: e.summary, ToolVersion: e.options.Version}
	for i := range e.Findings {
		f := &e.Findings[i]
		if f.Status == check.Fail && e.Of(codeRun).Status == check.OK && f.Name != codeRoot && !strings.HasPrefix(f.Name, "catalog.") {
			f.Status, f.Means = check.Warn, "this was thought to keep runs from working, and one works all the same"
		}
		report.Findings = append(report.Findings, *f)
	}
	first, failed := e.Failed()
	report.Works = !failed && e.Of(codeRun).Status == check.OK
	report.Summary.Run = "run works with the defaults"
	if len(e.unheld) > 0 {
		report.Summary.Run += ", but no control group around it that can be seen holds a limit of " + strings.Join(e.unheld, ", ")
	}
	if !report.Works {
		report.Summary.Run = "run does not work with the defaults: " + first.Name + ": " + first.Seen
	}
	report.Stamp, err = check.NewStamp("osrelease")
	return report, err
}
