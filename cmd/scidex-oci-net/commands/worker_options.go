package commands

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue/lease"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/worker"
	"github.com/scidex-ai/scidex-oci/spec"
)

const (
	defaultDrain  = time.Minute
	defaultRescue = 10 * time.Minute
)

// workerOptions are the options of worker.
type workerOptions struct {
	jobs               int
	totalMemory        spec.Size
	totalCPUs          float64
	class              []string
	labels             map[string]string
	drain, rescueAfter time.Duration
	lease              time.Duration
	limits             string
	metrics            options.Text
	json               bool
}

func (o *workerOptions) flags(g *options.Global) []cli.Flag {
	o.drain, o.rescueAfter, o.lease, o.limits = defaultDrain, defaultRescue, lease.Default, spec.LimitsEnforce
	return options.List(append(g.SignFlags(),
		options.Count(&o.jobs, "jobs", "take up to `N` analyses at once (default: as many with the limits that an analysis has by default as there is room for)", 1, "j"),
		options.Parsed(&o.totalMemory, "total-memory", "grant all analyses together `SIZE` (default: the memory that is free at the start, or the less that control groups leave)", spec.ParseSize),
		options.Parsed(&o.totalCPUs, "total-cpus", "grant all analyses together a `NUMBER` of cores (default: those that there are, or the less that control groups leave)", spec.ParseCPUs),
		options.Values(&o.class, "class", "take analyses of this class `NAME`, and not those of others; repeatable (default: default)", readClasses),
		options.Pairs(&o.labels, "labels", "have the label `K=V`, for analyses that ask for it with --require; repeatable"),
		options.Duration(&o.drain, "drain", "let what runs go on for `DURATION` after the first signal, 0 for not at all (default: 1m)", 0),
		options.Duration(&o.rescueAfter, "rescue-after", "take an analysis for stuck `DURATION` after its timeout and grace (default: 10m)", time.Second),
		options.Parsed(&o.lease, "lease", "let others take what this worker has when it was silent for `DURATION`, from 3s to 10m; 0: not before --rescue-after (default: 45s)", readLease),
		options.Choice(&o.limits, "limits", "`enforce|outer|best-effort`, as of run, for analyses that were submitted without it", spec.LimitsEnforce, spec.LimitsOuter, spec.LimitsBestEffort),
		g.MinFreeFlag(), g.InjectFlag(),
		options.Given(&o.metrics, "metrics", "serve metrics at `ADDRESS`, HOST:PORT; :PORT is every address of this host, and port 0 any that is free, which is logged at info (default: none)"),
		options.Bool(&o.json, "json", "print results as JSON lines also if standard output is a terminal"),
	)...)
}

// worker is a worker with these options.
func (o *workerOptions) worker() *worker.Worker {
	w := &worker.Worker{Capacity: admission.ReadFree(), Labels: o.labels, Limits: o.limits}
	if o.totalMemory > 0 {
		w.Capacity.Memory = int64(o.totalMemory)
	}
	if o.totalCPUs > 0 {
		w.Capacity.CPUs = o.totalCPUs
	}
	w.Options.Classes, w.Options.Drain, w.Options.RescueAfter, w.Options.Jobs = o.class, o.drain, o.rescueAfter, o.jobs
	w.Options.Lease = o.lease
	if o.jobs == 0 {
		w.Options.Jobs = w.Capacity.Runs(admission.LimitsOf(spec.Analysis{}))
	}
	return w
}

// readLease reads the length of a lease.
func readLease(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d != 0 && (d < lease.Min || d > lease.Max) {
		return 0, fmt.Errorf("%q is no length of a lease; give a duration from %v to %v, as 45s, or 0 for no lease", text, lease.Min, lease.Max)
	}
	return d, nil
}

// readClasses reads the classes that a worker takes.
func readClasses(t options.Text) ([]string, error) {
	for _, class := range t.Values {
		if err := queue.ValidateClass(class); err != nil {
			return nil, t.Wrap(err)
		}
	}
	return t.Values, nil
}
