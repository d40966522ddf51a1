package app

import (
	"cmp"
	"flag"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

func TestBatchOptions(t *testing.T) {
	for _, test := range []struct {
		given map[string]string
		want  batchOptions
		words string
	}{
		{given: nil},
		{given: map[string]string{"jobs": "3", "retries": "0", "resume": "true"}, want: batchOptions{jobs: 3, resume: true}},
		{given: map[string]string{"rerun": "changed"}, want: batchOptions{rerun: "changed", resume: true}},
		{given: map[string]string{"rerun": "new"}, words: "give one of failed, changed, all"},
		{given: map[string]string{"fail-fast": "true"}, want: batchOptions{maxFailures: 1}},
		{given: map[string]string{"max-failures": "4"}, want: batchOptions{maxFailures: 4}},
		{given: map[string]string{"max-failures": "0"}, words: "at least 1"},
		{given: map[string]string{"jobs": "many"}, words: "whole number"},
		{given: map[string]string{"retries": "-1"}, words: "at least 0"},
		{given: map[string]string{"fail-fast": "true", "max-failures": "2"}, words: "contradict"},
		{given: map[string]string{"id": "a"}, words: "give each line"},
		{given: map[string]string{"detach": "true"}, words: "setsid"},
		{given: map[string]string{"detach": "false"}},
		{given: map[string]string{"again": "a"}, words: "--resume"},
		{given: map[string]string{"file": "a"}, words: "argument"},
		{given: map[string]string{"export": "/a"}, want: batchOptions{export: "/a"}},
		{given: map[string]string{"sweep": "seed=1..0"}, words: `--sweep "seed=1..0": the range does not get from 1 to 0`},
	} {
		p := &command.Program{Env: envOfDirectory(t.TempDir()), Options: &options.Global{}}
		o := &batchOptions{run: runflags.NewOptions(p)}
		flags := o.flags(p.Options)
		applyFlags(t, flags, test.given)
		err := cmp.Or(p.Options.Load(p.Env, options.Of(flags)), runflags.Refuse(flags, "a batch", notOfBatch), o.merge())
		got := *o
		got.run, got.failFast = nil, false
		if test.words == "" && (err != nil || !reflect.DeepEqual(got, test.want)) {
			t.Errorf("%v: %+v, %v", test.given, got, err)
		}
		if test.words != "" && (err == nil || !strings.Contains(err.Error(), test.words)) {
			t.Errorf("%v: %v, want %q", test.given, err, test.words)
		}
	}
}

func TestLeft(t *testing.T) {
	signal := &request.StopSignal{Name: "SIGINT"}
	for _, test := range []struct {
		s     batch.Summary
		total int
		rerun batch.Rerun
		want  string
	}{
		{batch.Summary{Failed: 2, Full: true}, 2, "", ""},
		{batch.Summary{Complete: 2}, 2, "", ""},
		{batch.Summary{Complete: 2, Signal: signal}, 2, "", "; ended by SIGINT"},
		{batch.Summary{Complete: 2, Signal: signal}, 3, "", "; ended by SIGINT: 1 line was not started, which --resume takes up"},
		{batch.Summary{Failed: 2, Full: true}, 9, "", "; enough have failed: 7 lines were not started, which --resume takes up"},
		{batch.Summary{Failed: 2, Full: true}, -1, "", "; enough have failed: what is still to come on standard input was not started"},
		{batch.Summary{Complete: 2, Signal: signal}, 3, batch.RerunFailed, "; ended by SIGINT: 1 line was not started, which --rerun failed takes up"},
		{batch.Summary{Complete: 2, Signal: signal}, 3, batch.RerunAll, "; ended by SIGINT: 1 line was not started"},
	} {
		o := batchOptions{rerun: string(test.rerun)}
		if got := notStarted(test.s, test.total, o.leftBy(true)); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	if way := (&batchOptions{}).leftBy(false); way != "" {
		t.Errorf("lines without ids: %q", way)
	}
}

func TestChangedSince(t *testing.T) {
	for want, s := range map[string]batch.Summary{
		"": {Passed: 2},
		"; one line has changed since it was run: --rerun changed runs it as it is now":         {Passed: 2, Changed: 1},
		"; 3 lines have changed since they were run: --rerun changed runs them as they are now": {Errors: 3, Changed: 3},
	} {
		if got := changedSince(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTaken(t *testing.T) {
	const used = " used before: add --resume to skip what is done, or --rerun failed, changed or all to run again as it is now"
	const busy = " taken by another command that runs now: --resume takes up what is left when that has ended"
	const both = " used before or taken by another command that runs now: when that has ended, --resume takes up what is left, and --rerun failed, changed or all runs again as it is now"
	for want, s := range map[string]batch.Summary{
		"":                                {Complete: 2, Errors: 1},
		"; id a was" + used:               {Complete: 2, Errors: 1, Taken: 1, TakenID: "a"},
		"; all 20 ids were" + used:        {Errors: 20, Taken: 20, TakenID: "a"},
		"; 2 ids, such as a, were" + used: {Complete: 1, Errors: 2, Taken: 2, TakenID: "a"},
		"; id a was" + busy:               {Complete: 2, Errors: 1, Taken: 1, Busy: 1, TakenID: "a"},
		"; all 20 ids were" + busy:        {Errors: 20, Taken: 20, Busy: 20, TakenID: "a"},
		"; 5 ids, such as a, were" + both: {Complete: 1, Errors: 5, Taken: 5, Busy: 3, TakenID: "a"},
	} {
		if got := takenIDs(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// applyFlags gives flags values as a command line does.
func applyFlags(t *testing.T, flags []cli.Flag, values map[string]string) {
	t.Helper()
	set := flag.NewFlagSet("", flag.ContinueOnError)
	for _, f := range flags {
		if err := f.Apply(set); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range values {
		if err := set.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
}

// envOfDirectory is an environment whose config files are in dir.
func envOfDirectory(dir string) options.Lookup {
	return func(name string) (string, bool) { return dir, name == "XDG_CONFIG_HOME" }
}

// The pauses that the help of --retries promises.
func TestRetryPause(t *testing.T) {
	for retry, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 7: time.Minute} {
		if got := retryPause(retry); got != want {
			t.Errorf("before retry %d: %v, want %v", retry, got, want)
		}
	}
}
