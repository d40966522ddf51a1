package main

import (
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
)

// notOfBatch are flags of run that say something of one run, and why a batch refuses them.
var notOfBatch = map[string]string{
	"id":     `it names one run; give each line its own "id"`,
	"file":   "the manifests of a batch are the lines of its file; give that as the argument",
	"again":  "a batch repeats no recorded run; give --resume to go on with a batch, or run --again ID",
	"export": `it is the place of one run; give each line its own "export"`,
	"trace":  "it is of one run; trace a run of one of the lines",
	"detach": "a batch stays with its caller, who reads its results; start it with setsid or nohup, or in the background",
}

// batchFlags are those of run, as defaults for all lines, and the batch's own.
func batchFlags(p *program) []cli.Flag {
	var flags []cli.Flag
	for _, flag := range append(runFlags(p.options), detachFlag()) {
		_, refused := notOfBatch[flag.Names()[0]]
		switch f := flag.(type) {
		case *cli.StringFlag:
			f.Hidden = f.Hidden || refused
		case *options.Flag:
			f.Hidden = f.Hidden || refused
		case *cli.BoolFlag:
			f.Hidden = f.Hidden || refused
			switch f.Name {
			case "json":
				f.Usage = "print results as JSON lines also where standard output is a terminal"
			case "quiet":
				f.Usage = "leave the status lines and the summary out"
			}
		}
		flags = append(flags, flag)
	}
	return append(flags,
		&cli.StringFlag{Name: "jobs", Aliases: []string{"j"}, Usage: "run `N` analyses at once, while outputs of those before are committed (default: as many as memory and CPUs have room for, by the largest limits of the lines); fewer, which is said, where open files, processes or ids have no room for N"},
		&cli.BoolFlag{Name: "resume", Usage: "go on with a batch: pass over each line whose id is complete or failed already, run the others", DisableDefaultText: true},
		&cli.BoolFlag{Name: "fail-fast", Usage: "start no more once a line has not ended as complete; the same as --max-failures 1", DisableDefaultText: true},
		&cli.StringFlag{Name: "max-failures", Usage: "start no more once `N` lines have not ended as complete; those that run come to their end"},
		&cli.StringFlag{Name: "retries", Usage: "repeat a line up to `N` times, after 1 s, 2 s, 4 s and so on, where scidex-oci or the host failed and not the analysis (default: 0)"},
		&cli.StringFlag{Name: "junit", Usage: "write what came of the lines to `FILE` as JUnit XML, at the end"},
	)
}

// batchOptions are the batch's own flags.
type batchOptions struct {
	jobs, maxFailures, retries int // jobs 0: to be worked out
	resume                     bool
	junit                      string
}

func batchOptionsOf(from layers) (o batchOptions, err error) {
	for name, why := range notOfBatch {
		if in, given := from.given(name); given && in.text(name) != "false" {
			return o, usagef("%s is not for a batch: %s", in.label(name), why)
		}
	}
	for name, to := range map[string]*int{"jobs": &o.jobs, "max-failures": &o.maxFailures, "retries": &o.retries} {
		least := 1
		if name == "retries" {
			least = 0
		}
		if *to, err = from.count(name, least); err != nil {
			return o, err
		}
	}
	if o.resume, err = from.on("resume"); err != nil {
		return o, err
	}
	fast, err := from.on("fail-fast")
	if err != nil {
		return o, err
	}
	if fast && o.maxFailures > 1 {
		return o, fmt.Errorf("--fail-fast and --max-failures %d contradict each other; give one of them", o.maxFailures)
	}
	if fast {
		o.maxFailures = 1
	}
	o.junit = from.path("junit", "")
	return o, nil
}

// count is the value of a flag that takes a whole number, 0 where it is not given.
func (l layers) count(name string, least int) (int, error) {
	in, given := l.given(name)
	if !given {
		return 0, nil
	}
	n, err := strconv.Atoi(in.text(name))
	if err != nil || n < least {
		return 0, fmt.Errorf("%s %q: give a whole number, at least %d", in.label(name), in.text(name), least)
	}
	return n, nil
}
