// Command run executes the tests of a compiled Go test binary, each in a process and a temporary directory of its own, in
// random order and several at a time.
//
//	run [flags] BINARY
//
// A test that fails keeps its output in a file below -logs. The last lines on standard error name the tests that failed
// and the command that repeats exactly those. The exit code is 1 if a test failed, 2 if the request makes no sense.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

type options struct {
	binary  string
	pattern string        // as go test -run
	only    string        // a file with the names of the tests to run
	except  fileList      // files with the names of tests that do not run
	jobs    int           // how many at a time
	count   int           // how often each
	seed    uint64        // of the order, and of what a test draws (SCIDEX_OCI_SEED)
	timeout time.Duration // of one test
	logs    string        // directory for the output of tests that failed
	times   string        // file for processor and wall time of each test
	repeat  string        // the command that -run and -seed are added to
}

func main() {
	options, err := parse()
	if err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	names, err := choose(ctx, options)
	if err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(2)
	}
	os.Exit(report(options, runAll(ctx, options, names)))
}

// fileList is a flag that may be repeated.
type fileList []string

func (l *fileList) String() string { return strings.Join(*l, " ") }

func (l *fileList) Set(path string) error {
	*l = append(*l, path)
	return nil
}

func parse() (options, error) {
	o := options{}
	flag.StringVar(&o.pattern, "run", "", "the tests and subtests to run, a regular expression as of go test")
	flag.StringVar(&o.only, "only", "", "a `file` that names the tests to choose from; lines with # are comments")
	flag.Var(&o.except, "except", "a `file` that names tests to leave out; may be repeated")
	flag.IntVar(&o.jobs, "jobs", 1, "how many tests run at a time")
	flag.IntVar(&o.count, "count", 1, "how often each test runs")
	flag.Uint64Var(&o.seed, "seed", 0, "repeats an order; 0 draws one")
	flag.DurationVar(&o.timeout, "timeout", 15*time.Minute, "how long one test may take before it is taken to hang")
	flag.StringVar(&o.logs, "logs", "", "the `directory` that keeps the output of tests that failed")
	flag.StringVar(&o.times, "times", "", "the `file` to write processor and wall time of each test to")
	flag.StringVar(&o.repeat, "repeat", "", "the `command` to show, which -run and -seed are added to")
	flag.Parse()
	o.binary = flag.Arg(0)
	for o.seed == 0 {
		o.seed = rand.Uint64N(1 << 31)
	}
	switch {
	case flag.NArg() != 1:
		return o, fmt.Errorf("name one test binary, not %d", flag.NArg())
	case o.jobs < 1 || o.count < 1:
		return o, fmt.Errorf("-jobs %d -count %d: both are at least 1", o.jobs, o.count)
	}
	return o, nil
}

// choose returns the tests to run in the order in which they start.
func choose(ctx context.Context, o options) ([]string, error) {
	names, err := list(ctx, o)
	if err != nil {
		return nil, err
	}
	top, _, _ := strings.Cut(o.pattern, "/")
	pattern, err := regexp.Compile(top)
	if err != nil {
		return nil, fmt.Errorf("-run %s: %w", o.pattern, err)
	}
	var chosen []string
	for _, name := range names {
		for range o.count {
			if pattern.MatchString(name) {
				chosen = append(chosen, name)
			}
		}
	}
	if len(chosen) == 0 {
		return nil, errors.Join(fmt.Errorf("no test matches -run %s", o.pattern), leftOut(o, pattern))
	}
	random := rand.New(rand.NewPCG(o.seed, 0)) //nolint:gosec // an order, no secret
	random.Shuffle(len(chosen), func(i, k int) { chosen[i], chosen[k] = chosen[k], chosen[i] })
	return chosen, nil
}

// list returns the names of all tests, or those of -only, without those of -except.
func list(ctx context.Context, o options) ([]string, error) {
	all, err := listed(ctx, o.binary)
	if err != nil {
		return nil, err
	}
	chosen := all
	if o.only != "" {
		if chosen, err = namesIn(o.only, all); err != nil {
			return nil, err
		}
	}
	for _, path := range o.except {
		left, err := namesIn(path, all)
		if err != nil {
			return nil, err
		}
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(name string) bool { return slices.Contains(left, name) })
	}
	return chosen, nil
}

// leftOut names the files of -except that have tests of a pattern.
func leftOut(o options, pattern *regexp.Regexp) (err error) {
	for _, path := range o.except {
		text, readErr := os.ReadFile(path)
		if err = errors.Join(err, readErr); slices.ContainsFunc(words(string(text)), pattern.MatchString) {
			err = errors.Join(err, fmt.Errorf("%s has one, which another tier runs: scripts/test %s", path, filepath.Base(filepath.Dir(path))))
		}
	}
	return err
}

// namesIn returns the names that a file has, each of which must be a test.
func namesIn(path string, all []string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	names := words(string(text))
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("%s names %s, which is no test", path, name)
		}
	}
	return names, nil
}

// words returns the words of a text without its comments.
func words(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		all = append(all, strings.Fields(line)...)
	}
	return all
}
