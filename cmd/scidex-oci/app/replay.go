package app

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/replay"
	"github.com/scidex-ai/scidex-oci/runner/warm"
	"github.com/scidex-ai/scidex-oci/runner/watch"
	"github.com/scidex-ai/scidex-oci/spec"
)

func newReplayCommand(p *command.Program) *cli.Command {
	o := &replayOptions{}
	return &cli.Command{
		Name:      "replay",
		Usage:     "run a recorded analysis again and compare what it makes, byte by byte",
		UsageText: "scidex-oci replay ID [--times N] [--keep-replays WORD] [--json]",
		ArgsUsage: "ID",
		Description: `The recorded request is run again, with its own script, standard input, image, limits and environment, from the inputs that it had: if
one is missing or not what it was, by its digest, that is said and nothing is run. A replay is a run of its own with the label
replay-of=ID@ATTEMPT; it is removed again once it has been found identical. What differs is listed with a first hint.

Exit codes: 0 all replays are identical; 1 something differs, is missing or has changed; 125 scidex-oci failed.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, 1)
			if err != nil {
				return err
			}
			return p.WithTidyStores(c, func(st *stores.Stores) error { return runReplay(c.Context, p, st, *o, given[0]) })
		},
	}
}

// replayOptions are the options of replay.
type replayOptions struct {
	times       int
	keepReplays string
	json        bool
}

func (o *replayOptions) flags() []cli.Flag {
	o.times, o.keepReplays = 1, spec.KeepFailed
	return options.List(
		options.Count(&o.times, "times", "run it `N` times (default: 1)", 1),
		options.String(&o.keepReplays, "keep-replays", "keep replays in the catalog: `never|failed|always`; failed (default) keeps those that differ"),
		options.Bool(&o.json, "json", "print one JSON object; see docs/schema/replay.json"),
	)
}

func runReplay(ctx context.Context, p *command.Program, st *stores.Stores, o replayOptions, name string) error {
	how, err := o.replaying()
	if err != nil {
		return err
	}
	run, err := watch.Find(ctx, st.Host, name)
	if err != nil {
		return err
	}
	stop, _ := command.StopSignals()
	defer command.IgnoreNextStop(stop)
	how.Stop = stop
	how.Run = runner.New(st.Host, warm.Begin).Run
	replayed, err := replay.Replay(ctx, st.Host, run, how)
	if err != nil {
		return err
	}
	if o.json {
		err = screen.WriteJSON(p.Stdout, replayed)
	} else {
		err = printReplay(p, replayed)
	}
	if err != nil || replayed.Identical {
		return err
	}
	return command.ExitStatus(1)
}

func (o *replayOptions) replaying() (replay.Options, error) {
	how := replay.Options{Times: o.times, Keep: o.keepReplays}
	switch how.Keep {
	case spec.KeepNever, spec.KeepFailed, spec.KeepAlways:
		return how, nil
	}
	return how, fmt.Errorf("--keep-replays %q: give never, failed or always", how.Keep)
}

// printReplay prints it for a person.
func printReplay(p *command.Program, replayed replay.Replayed) error {
	w := screen.NewTable(p.Stdout, p.Stdout.File, p.Env)
	w.Row("run", catalog.Key{ID: replayed.ID, Attempt: replayed.Attempt}.String())
	w.Row("replay", screen.Escape(replayed.Message))
	for _, in := range replayed.Changed {
		w.Row("changed", screen.Escape(fmt.Sprintf("%s %q: %s", in.Flag, in.Source, in.Message)))
	}
	for _, in := range replayed.Unknown {
		w.Row("unknown", screen.Escape(fmt.Sprintf("%s %q: %s", in.Flag, in.Source, in.Message)))
	}
	for _, one := range replayed.Replays {
		if one.Message != "" {
			w.Row(one.ID, screen.Escape(one.Message))
		}
		for _, d := range one.Differences {
			w.Row("differs", screen.Escape(fmt.Sprintf("%s  %s: %s", d.Path, d.Hint, d.Detail)))
		}
		if more := one.DifferencesTotal - len(one.Differences); more > 0 {
			w.Row("differs", fmt.Sprintf("and %d more", more))
		}
		if one.Kept {
			w.Row("kept", one.ID)
		}
	}
	return nil
}
