package app

import (
	"fmt"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch/sweep"
)

// notOfBatch are flags of run that apply to one run, and why a batch refuses them.
var notOfBatch = map[string]string{
	"id":     `it names one run; give each line its own "id"`,
	"file":   "the manifests of a batch are the lines of its file; give that as the argument",
	"again":  "a batch repeats no recorded run; give --resume to go on with a batch, --rerun to run its lines again, or run --again ID",
	"trace":  "it is of one run; trace a run of one of the lines",
	"detach": "a batch stays with its caller, who reads its results; start it with setsid or nohup, or in the background",
}

// batchOptions are the options of batch: those of run, as defaults for all lines, and more.
type batchOptions struct {
	run                        *options.Run
	jobs, maxFailures, retries int  // jobs 0: computed
	resume, failFast           bool // resume also with rerun
	rerun, junit, export       string
	sweep                      []sweep.Axis
}

func (o *batchOptions) flags(g *options.Global) []cli.Flag {
	flags := options.Hide(append(options.Without(o.run.Flags(g), "export"), o.run.DetachFlag()), slices.Collect(maps.Keys(notOfBatch))...)
	options.Describe(flags, "json", "print results as JSON lines also if standard output is a terminal")
	options.Describe(flags, "overwrite", "let --export and the \"export\" of a line write into a directory that is not empty")
	options.Describe(flags, "quiet", "leave the status lines, the lines of failures and the summary out")
	return options.List(append(flags,
		options.Count(&o.jobs, "jobs", "run `N` analyses at once, while outputs of those before are committed (default: as many as memory and CPUs have room for, by the largest limits of the lines); fewer, with a message, if open files, processes or ids have no room for N", 1, "j"),
		options.Bool(&o.resume, "resume", "go on with a batch: skip each line whose id is complete or failed already, run the others"),
		options.Choice(&o.rerun, "rerun", "go on with a batch, and run as the next attempt, with the request and the script as they are now, also lines that have ended: `failed|changed|all`", string(batch.RerunFailed), string(batch.RerunChanged), string(batch.RerunAll)),
		options.Bool(&o.failFast, "fail-fast", "start no more once a line has not ended as complete; the same as --max-failures 1"),
		options.Count(&o.maxFailures, "max-failures", "start no more once `N` lines have not ended as complete; those that run come to their end", 1),
		options.Count(&o.retries, "retries", "repeat a line up to `N` times, after 1 s, 2 s, 4 s and so on, if scidex-oci or the host failed and not the analysis (default: 0)", 0),
		options.Path(&o.export, "export", "write the outputs of each run to `DIR`/ID after its commit"),
		options.Values(&o.sweep, "sweep", "run a command or script once for each combination of values; `NAME=VALUES` is a list, lr=0.1,0.01, or a range of integers, seed=0..199; repeatable", readBatchSweep),
		options.Path(&o.junit, "junit", "write the results of the lines to `FILE` as JUnit XML, at the end"),
	)...)
}

// merge joins the two options that end a batch early, and the two that go on with one.
func (o *batchOptions) merge() error {
	if o.failFast && o.maxFailures > 1 {
		return fmt.Errorf("--fail-fast and --max-failures %d contradict each other; give one of them", o.maxFailures)
	}
	if o.failFast {
		o.maxFailures = 1
	}
	o.resume = o.resume || o.rerun != ""
	return nil
}

// leftBy says what takes up lines that were not started: --resume passes over those that --rerun was to run again. Lines
// without an id are not known again.
func (o *batchOptions) leftBy(ids bool) string {
	switch rerun := batch.Rerun(o.rerun); {
	case rerun == batch.RerunAll || !ids:
		return "" // it would run all others again as well
	case rerun == batch.RerunNone:
		return ", which --resume takes up"
	default:
		return ", which --rerun " + o.rerun + " takes up"
	}
}

// readBatchSweep reads the axes of a sweep.
func readBatchSweep(t options.Text) (all []sweep.Axis, err error) {
	for _, value := range t.Values {
		axis, err := sweep.ParseAxis(value)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", t.Label, value, err)
		}
		all = append(all, axis)
	}
	return all, nil
}

// open opens the lines: those of a file, or of a sweep.
func (o *batchOptions) open(c *cli.Context, k runflags.Parser) (*runflags.Lines, error) {
	if len(o.sweep) > 0 {
		s, err := sweep.New(o.sweep)
		if err != nil {
			return nil, fmt.Errorf("--sweep: %w", err)
		}
		return runflags.OpenSweep(k, s, o.resume)
	}
	given, err := command.Args(c, 1, 1)
	if err != nil {
		return nil, err
	}
	return runflags.OpenLines(k, given[0])
}
