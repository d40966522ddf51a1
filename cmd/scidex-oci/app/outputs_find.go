package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

func newOutputsFindCommand(p *command.Program) *cli.Command {
	o := &findOptions{}
	return &cli.Command{
		Name:      "find",
		Usage:     "find outputs of any run, those of the newest first",
		UsageText: "scidex-oci outputs find GLOB|SHA256 [--label K=V]... [--state S]... [--since TIME] [--limit N] [--json]",
		ArgsUsage: "GLOB|SHA256",
		Description: `GLOB matches whole paths, as --output of run does: ** stands for any number of directories, and "dir/" for
everything below dir. Eight hexadecimal digits or more are the beginning of a digest; write ./deadbeef for a file
of such a name.`,
		Flags: o.flags(),
		Action: p.ForOne(func(ctx context.Context, st *stores.Stores, given string) error {
			return runOutputsFind(ctx, p, st, *o, given)
		}),
	}
}

// findOptions are the options of outputs find.
type findOptions struct {
	since  options.Moment
	states []string
	labels map[string]string
	limit  int
	json   bool
}

func (o *findOptions) flags() []cli.Flag {
	return options.List(
		options.Time(&o.since, "since", "of runs created at or after `TIME`: RFC 3339, a date, or how long ago, as 7d or 12h"),
		options.Words(&o.states, "state", "of runs in this `STATE`; repeatable", options.States()),
		options.Pairs(&o.labels, "label", "of runs with this label `K=V`; repeatable, all must match"),
		options.Number(&o.limit, "limit", "at most `N` outputs, 0 for all (default: 0)", 0, "a number of outputs, 0 for all", "n"),
		options.Bool(&o.json, "json", "one JSON object a line"),
	)
}

// search is a search of find.
type search struct {
	query   catalog.OutputQuery
	matches func(path []byte) bool
	limit   int // 0 for no limit
	asJSON  bool
}

func runOutputsFind(ctx context.Context, p *command.Program, st *stores.Stores, o findOptions, what string) error {
	s, err := searchOf(o, what, time.Now())
	if err != nil {
		return err
	}
	n := 0
	var printed error
	err = st.Catalog.FindOutputs(ctx, s.query, func(found catalog.FoundOutput) bool {
		if !s.matches(found.Path) {
			return true
		}
		n++
		printed = s.print(p.Stdout, found)
		return printed == nil && n != s.limit
	})
	err = errors.Join(err, printed)
	if err == nil && n == 0 && !o.json {
		fmt.Fprintf(p.Stderr, "scidex-oci: %s\n", screen.Escape(s.nothing(what)))
	}
	return err
}

// nothing is the sentence that is printed instead of outputs.
func (s search) nothing(what string) string {
	if s.query.Digest != "" || strings.Contains(what, "/") {
		return "no output matches"
	}
	return fmt.Sprintf("no output matches; %q looks in all directories", "**/"+what)
}

var digestPrefix = pattern(`^[0-9a-fA-F]{8,64}$`)

func searchOf(o findOptions, what string, now time.Time) (s search, err error) {
	s.limit, s.asJSON, s.query.Labels = o.limit, o.json, o.labels
	for _, state := range o.states {
		s.query.States = append(s.query.States, outcome.State(state))
	}
	if s.query.Since, err = o.since.At(now); err != nil {
		return s, err
	}
	if digest := strings.TrimPrefix(what, "sha256:"); digestPrefix().MatchString(digest) {
		s.query.Digest = strings.ToLower(digest)
		s.matches = func([]byte) bool { return true }
		return s, nil
	}
	pattern, err := outputs.ParsePattern(what)
	s.matches = pattern.Match
	return s, err
}

// foundOutput is a line of outputs find --json.
type foundOutput struct {
	ID               string     `json:"id"`
	Attempt          int        `json:"attempt"`
	CreatedAt        time.Time  `json:"created_at"` // of the run
	OutputsRemovedAt *time.Time `json:"outputs_removed_at,omitempty"`
	result.Output
}

// print prints columns of independent width, so that no row is held back.
func (s search) print(w io.Writer, found catalog.FoundOutput) error {
	o := result.NewOutput(found.Entry)
	if s.asJSON {
		return screen.WriteJSON(w, foundOutput{found.ID, found.Attempt, found.CreatedAt, results.Moment(found.OutputsRemovedAt), o})
	}
	removed := ""
	if !found.OutputsRemovedAt.IsZero() {
		removed = "  (content removed)"
	}
	_, err := fmt.Fprintf(w, "%s  %s  %10s  %s  %s%s\n", screen.LocalTime(found.CreatedAt), format.ShortDigest(o.SHA256), format.Size(o.Size),
		screen.Escape(found.String()), screen.Escape(o.Path), removed)
	return err
}
