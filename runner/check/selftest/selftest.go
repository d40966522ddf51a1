// Package selftest proves that on this host an analysis cannot reach what it must not. It runs canaries, analyses of its
// own, through the whole pipeline (runner.Runner) with the caller's flags: what is proven is what runs get.
//
// Package canary is that analysis: this program, which makes the attempts that a file names. A trial has such an attempt,
// and its control, which this process makes outside: an attempt that fails there proves nothing inside. What the outcomes
// prove is judged by functions of the outcome and of package attacks, which has the answers that a wall gives.
package selftest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// label is on every run of a selftest; its value is the selftest's id.
const label = "ai.scidex.selftest"

// Options of a selftest.
type Options struct {
	// Analysis holds the flags of the runs to prove: inputs, limits, ids. Its command is ignored.
	Analysis spec.Analysis
	// NoAudit is as in the requests of those runs.
	NoAudit bool
	// Targets must not be reached. None means DefaultTarget.
	Targets []Target
	// Each, if not nil, is called with every finding as it is known.
	Each func(check.Finding)
	// Stop ends the selftest, as it ends a run.
	Stop <-chan request.StopSignal
}

// Report is the result of a selftest; docs/schema/selftest.json describes its JSON.
type Report struct {
	V      int  `json:"v"` // 1
	Passed bool `json:"passed"`
	check.Stamp
	BootID       string    `json:"boot_id"`
	ToolVersion  string    `json:"tool_version"`
	PolicySHA256 string    `json:"policy_sha256"`
	Runs         []string  `json:"runs"`
	Checks       []Finding `json:"checks"`
	// Notes say what was left out, and why.
	Notes []string `json:"notes"`
}

// Finding is a check.Finding in JSON.
type Finding struct {
	Name    string       `json:"check"` // what was tried: "tcp", "socket", "write"
	Target  string       `json:"target"`
	Status  check.Status `json:"result"`
	Seen    string       `json:"detail"` // what happened inside
	Control string       `json:"control"`
	Means   string       `json:"-"`
	Cure    string       `json:"-"`
	Command string       `json:"-"`
	After   string       `json:"-"`
}

// examination is what the checks of one selftest share.
type examination struct {
	check.Checker
	host      *phase.Host
	id        string
	noAudit   bool
	view      view // of a run with the caller's flags
	dir       directory
	runs      *check.Runs
	listeners []*listener
	made      Report // what is known of it
}

// Run tests the host. It returns an error if it could not, a *check.StoppedError if Stop ended it: then nothing is proven.
func Run(ctx context.Context, host *phase.Host, options Options) (_ Report, err error) {
	s, err := newExamination(ctx, host, options)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.runs, ctx = check.NewRuns(ctx, options.Stop)
	defer s.runs.Close()
	main, err := s.reach(ctx, options.Targets)
	if err == nil {
		err = s.exceedLimits(ctx, main)
	}
	if err != nil {
		return Report{}, cmp.Or(context.Cause(ctx), err)
	}
	return s.report(main.BootID)
}

func newExamination(ctx context.Context, host *phase.Host, options Options) (*examination, error) {
	s := &examination{id: newID(), noAudit: options.NoAudit, made: Report{V: 1, ToolVersion: host.Version, Runs: []string{}, Checks: []Finding{}, Notes: []string{}}}
	s.Each = options.Each
	var err error
	if s.view, err = look(ctx, host, check.Confined(options.Analysis), s.id); err != nil {
		return nil, err
	}
	if s.made.PolicySHA256, err = spec.PolicyDigest(s.view.Analysis, !options.NoAudit); err != nil {
		return nil, &request.Error{Err: err}
	}
	s.note(raisedLimits(s.view.Analysis)...)
	if s.dir, err = makeDirectory(host.Tmp, s.id); err != nil {
		return nil, err
	}
	s.host = allowing(host, s.dir.Path)
	return s, nil
}

// allowing returns a host that may also bind what is in dir, which the caller has not requested. Binds forbidden to the
// caller were refused before.
func allowing(r *phase.Host, dir string) *phase.Host {
	wider := *r
	wider.AllowBinds = slices.Clone(r.AllowBinds)
	for i, a := range wider.AllowBinds {
		wider.AllowBinds[i].Prefixes = append(slices.Clone(a.Prefixes), dir)
	}
	return &wider
}

func newID() string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return "selftest-" + spec.NewID(time.Now(), random)
}

func (s *examination) note(notes ...string) { s.made.Notes = append(s.made.Notes, notes...) }

// report completes the report. A selftest without checks has proven nothing.
func (s *examination) report(bootID string) (report Report, err error) {
	report = s.made
	report.Stamp, err = check.NewStamp("osrelease", "version")
	report.BootID = bootID
	report.Passed = len(s.Findings) > 0
	for _, f := range s.Findings {
		report.Passed = report.Passed && (f.Status == check.Pass || f.Status == check.Accepted)
		report.Checks = append(report.Checks, Finding(f))
	}
	return report, err
}

func (s *examination) close() error {
	err := s.dir.Remove()
	for _, l := range s.listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}
