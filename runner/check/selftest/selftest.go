// Package selftest proves that on this host an analysis cannot reach what it must not. It runs canaries, analyses of its
// own, through the whole pipeline (runner.Run) with the caller's flags: what is proven is what runs get.
//
// Package canary is that analysis: this program, which makes the attempts that a file names. The launcher makes the same
// attempts outside, as a control: one that fails there proves nothing inside. Package judge says what the outcomes prove.
package selftest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/check/probe"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/listener"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/target"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Label is on every run of a selftest; its value is the selftest's id.
const Label = "ai.scidex.selftest"

// Options of a selftest.
type Options struct {
	// Analysis holds the flags of the runs to prove: inputs, limits, ids. Its command is ignored.
	Analysis spec.Analysis
	// NoAudit is as in the requests of those runs.
	NoAudit bool
	// Targets must not be reached. None means target.Default.
	Targets []target.Target
	// Each, where not nil, is called with every check as it is known.
	Each func(Check)
	// Stop ends the selftest, as it ends a run.
	Stop <-chan request.StopSignal
}

// Run tests the host. It returns an error where it could not, a *probe.StoppedError where Stop ended it: then nothing is
// proven.
func Run(ctx context.Context, r *phase.Host, options Options) (report Report, err error) {
	t, err := newTest(ctx, r, options)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	t.runs, ctx = probe.NewRuns(ctx, options.Stop)
	defer t.runs.Close()
	for _, phase := range []func(context.Context) error{t.reach, t.limits} {
		if err := phase(ctx); err != nil {
			return Report{}, cmp.Or(context.Cause(ctx), err)
		}
	}
	return t.finish()
}

// test is one selftest.
type test struct {
	runner    *phase.Host
	options   Options
	id        string
	view      view // of a run with these flags
	dir       directory
	runs      *probe.Runs
	report    Report
	listeners []*listener.Listener
	secret    string        // the value of launcherVariable
	main      result.Result // of the canary that tried to reach things
}

func newTest(ctx context.Context, r *phase.Host, options Options) (*test, error) {
	if len(options.Targets) == 0 {
		options.Targets = []target.Target{target.Default}
	}
	options.Analysis = probe.Confined(options.Analysis)
	t := &test{runner: r, options: options, id: newID()}
	t.report = Report{V: 1, ToolVersion: r.Version, Runs: []string{}, Checks: []Check{}, Notes: []string{}}
	var err error
	if t.view, err = look(ctx, r, options.Analysis, t.id); err != nil {
		return nil, err
	}
	if t.report.PolicySHA256, err = spec.PolicyDigest(t.view.analysis, !options.NoAudit); err != nil {
		return nil, &request.Error{Err: err}
	}
	t.noteRoom()
	if t.dir, err = makeDirectory(r.Tmp, t.id); err != nil {
		return nil, err
	}
	t.runner = allowing(r, t.dir.Path)
	return t, nil
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

// noteRoom notes the limits that are higher for canaries than for the caller's runs.
func (t *test) noteRoom() {
	asked, given := t.view.analysis, withRoom(t.view.analysis)
	for _, limit := range []struct{ name, asked, given string }{
		{"memory", asked.Memory.String(), given.Memory.String()},
		{"pids", fmt.Sprint(asked.Pids), fmt.Sprint(given.Pids)},
		{"cpus", fmt.Sprint(asked.CPUs), fmt.Sprint(given.CPUs)},
		{"timeout", asked.Timeout.String(), given.Timeout.String()},
	} {
		if limit.asked != limit.given {
			t.note(fmt.Sprintf("the canaries had %s %s in place of %s, because they may need it; that limits hold is proven by runs of their own", limit.name, limit.given, limit.asked))
		}
	}
}

func newID() string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return "selftest-" + spec.NewID(time.Now(), random)
}

func (t *test) close() error {
	err := t.dir.Remove()
	for _, l := range t.listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}
