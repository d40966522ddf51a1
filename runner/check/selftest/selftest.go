// Package selftest proves on this very host that an analysis cannot reach what it must not. It runs
// canaries, analyses of our own, through the ordinary pipeline (runner.Run) with the caller's flags: what is
// proven is what runs get.
//
// A canary is this program, told by a file what to try (try, orders). The same tries are made outside, by
// the launcher, as a control: one that comes to nothing there proves nothing inside. What a canary answers
// comes from a sandbox that may have a hole. So it is read strictly, an answer that is missing is a failure,
// and wherever the host itself can see what happened (a listener that hears nothing, the kernel's counters,
// the times of a directory) the host's word is taken.
//
// No try does harm where it succeeds: files are opened for writing and not written, truncated only where an
// rlimit stands before it, and removed by a call that cannot remove them.
package selftest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Label is on every run of a selftest; its value is the selftest's id.
const Label = "ai.scidex.selftest"

// Options of a selftest.
type Options struct {
	// Analysis holds the flags of the runs to prove: inputs, limits, ids. What to run is the canary's.
	Analysis spec.Analysis
	// NoAudit is as in the requests of those runs.
	NoAudit bool
	// Targets must not be reached. None means Default.
	Targets []Target
	// Each, where not nil, is called with every check as it is known.
	Each func(Check)
	// Stop ends the selftest, as it ends a run.
	Stop <-chan request.StopSignal
}

// StoppedError is returned by Run when Stop has ended it.
type StoppedError struct{ Signal request.StopSignal }

func (e *StoppedError) Error() string { return "stopped by " + e.Signal.Name }

// Run tests the host. An error says that the test could not be made: nothing is proven then, neither way.
func Run(ctx context.Context, r *phase.Host, options Options) (report Report, err error) {
	t, err := newTest(ctx, r, options)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if err := t.reach(ctx); err != nil {
		return Report{}, err
	}
	if err := t.limits(ctx); err != nil {
		return Report{}, err
	}
	return t.finish()
}

// test is one selftest.
type test struct {
	runner  *phase.Host
	options Options
	id      string
	view    view // what a run with these flags sees
	dir     *directory
	crew    *crew
	report  Report
	ears    []*ear
	secret  string        // the value of launcherVariable
	main    result.Result // of the canary that tried to reach things
}

func newTest(ctx context.Context, r *phase.Host, options Options) (*test, error) {
	if len(options.Targets) == 0 {
		options.Targets = []Target{Default}
	}
	options.Analysis = stripped(options.Analysis)
	t := &test{runner: r, options: options}
	t.report = Report{V: 1, ToolVersion: r.Version, Runs: []string{}, Checks: []Check{}, Notes: []string{}}
	var err error
	if t.id, err = newID(); err != nil {
		return nil, err
	}
	if t.view, err = t.look(ctx); err != nil {
		return nil, err
	}
	if t.report.PolicySHA256, err = spec.PolicyDigest(t.view.analysis, !options.NoAudit); err != nil {
		return nil, &request.Error{Err: err}
	}
	t.noteRoom()
	if t.dir, err = makeDirectory(r.Tmp, t.id); err != nil {
		return nil, err
	}
	t.runner = allowing(r, t.dir.path)
	t.crew = newCrew(options.Stop)
	return t, nil
}

// allowing is a runner that may also bind what is in dir: what the caller may not bind has been refused by
// then, and this is no bind of the caller's.
func allowing(r *phase.Host, dir string) *phase.Host {
	wider := *r
	wider.AllowBinds = slices.Clone(r.AllowBinds)
	for i, a := range wider.AllowBinds {
		wider.AllowBinds[i].Prefixes = append(slices.Clone(a.Prefixes), dir)
	}
	return &wider
}

// noteRoom tells where the canaries get more than the caller's runs.
func (t *test) noteRoom() {
	asked, given := t.view.analysis, roomy(t.view.analysis)
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

// stripped is the part of a request that confines a run: what to run and what to deliver are ours.
func stripped(a spec.Analysis) spec.Analysis {
	a.ID, a.Command, a.Script, a.Args = "", nil, "", nil
	a.Stage, a.Export, a.Outputs, a.Exclude, a.Keep = "", "", nil, nil, spec.KeepNever
	return a
}

func newID() (string, error) {
	var random [4]byte
	_, err := rand.Read(random[:])
	return "selftest-" + spec.NewID(time.Now(), random), err
}

// token is a name that nobody else has.
func token() (string, error) {
	var random [8]byte
	_, err := rand.Read(random[:])
	return hex.EncodeToString(random[:]), err
}

func (t *test) close() error {
	err := errors.Join(t.crew.close(), t.dir.remove())
	for _, e := range t.ears {
		err = errors.Join(err, e.close())
	}
	return err
}
