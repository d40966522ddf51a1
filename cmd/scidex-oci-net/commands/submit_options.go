package commands

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// submitOptions are the options of submit: those of run, and those of the job.
type submitOptions struct {
	run               *options.Run
	batch             options.Text
	class             string
	require           map[string]string
	priority, retries int
	start             options.Start
	unique            bool
}

func (o *submitOptions) flags(g *options.Global) []cli.Flag {
	o.retries = queue.DefaultRetries
	flags := options.Hide(options.WithoutSign(o.run.Flags(g)), slices.Collect(maps.Keys(notOfSubmit))...)
	options.Hide(flags, "post-process-timeout", "min-free", "quiet")
	options.Describe(flags, "json", "print one JSON object for each analysis")
	return options.List(append(flags,
		options.Given(&o.batch, "batch", "submit a line of JSON each of `FILE`, or - for standard input; flags are their defaults"),
		options.Parsed(&o.class, "class", "for workers of this class `NAME` (default: default)", readClass),
		options.Pairs(&o.require, "require", "for workers that have the label `K=V`; repeatable, all must match"),
		options.Value(&o.priority, "priority", "`1|2|3|4`: those of 1 are taken first, then those of 2, and so on; within one in their order (default: 1)", readPriority),
		options.Begin(&o.start, "at", "not to begin before `TIME|+DURATION`, as 2026-01-31T12:00:00Z, a date as 2026-01-31, +2h or +7d"),
		options.Bool(&o.unique, "unique", "if an analysis waits or runs that asks for the very same, except for id and labels, answer with that one and queue nothing"),
		options.Count(&o.retries, "retries", fmt.Sprintf("let up to `N` attempts follow that end in an error of scidex-oci or a host, after 1 s, 2 s, 4 s and so on (default: %d)", queue.DefaultRetries), 0),
	)...)
}

// terms are the options of a job.
func (o *submitOptions) terms() queue.Submission {
	return queue.Submission{
		Class: o.class, Require: o.require, Priority: o.priority, Retries: o.retries, At: o.start.At, After: o.start.After, Unique: o.unique,
	}
}

func readClass(class string) (string, error) { return class, queue.ValidateClass(class) }

func readPriority(t options.Text) (int, error) {
	n, err := strconv.Atoi(t.Value)
	if err != nil || n < 1 || n > 4 {
		return 0, t.Refuse("give 1 for the first to be taken, 2, 3, or 4 for the last")
	}
	return n, nil
}
