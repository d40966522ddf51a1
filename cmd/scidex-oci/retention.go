package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/runner"
)

// retentionFlags are the flags of gc that a config file may set too.
func retentionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "older-than", Usage: "remove runs that ended before `AGE`: how long ago, as 30d or 12h, a date, or RFC 3339"},
		&cli.StringFlag{Name: "keep-last", Usage: "remove runs but the newest `N` that this root wrote, pinned ones and those that run counted; all for none at all"},
		&cli.BoolFlag{Name: "outputs-only", Usage: "remove only what the outputs of those runs hold; their rows, digests and logs stay", DisableDefaultText: true},
	}
}

// keepAll as --keep-last takes back what a config file asks for.
const keepAll = "all"

func retentionOf(from layers, now time.Time) (r runner.Retention, err error) {
	last, given := from.given("keep-last")
	if given && last.text("keep-last") == keepAll {
		return r, nil
	}
	if given {
		if r.KeepLast, err = strconv.Atoi(last.text("keep-last")); err != nil || r.KeepLast < 1 {
			return runner.Retention{}, fmt.Errorf("%s %q: give a number of runs from 1 on, or %s", last.label("keep-last"), last.text("keep-last"), keepAll)
		}
	}
	if r.Before, err = timeOf(from, "older-than", now); err != nil {
		return runner.Retention{}, err
	}
	if r.OutputsOnly, err = from.on("outputs-only"); err != nil {
		return runner.Retention{}, err
	}
	if in, _ := from.given("outputs-only"); r.OutputsOnly && !r.Asked() {
		return runner.Retention{}, fmt.Errorf("%s says not of which runs; give --older-than AGE or --keep-last N too", in.label("outputs-only"))
	}
	return r, nil
}
