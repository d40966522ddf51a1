package app

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// What the completion of a shell asks for.
const (
	knownRun    = "run"
	knownLabel  = "label"
	knownImage  = "image"
	knownOutput = "output"
	knownKey    = "key"
	knownShort  = "short-name"
)

// offered bounds the runs that completion looks at, and the outputs that it offers.
const offered = 200

// newCompleteCommand is what the completion of a shell calls: it prints a candidate and a description in each line.
func newCompleteCommand(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "complete",
		Hidden:    true,
		Usage:     "print what an argument may be, for a shell",
		UsageText: "scidex-oci complete run|label|image|key|short-name TEXT | output TEXT ID",
		ArgsUsage: "KIND TEXT [ID]",
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 2, 3)
			if err != nil {
				return err
			}
			if from := withoutStores()[given[0]]; from != nil {
				return completeFrom(c, p, given[1], from)
			}
			return p.WithRawStores(c, func(st *stores.Stores) error {
				return complete(c.Context, p.Stdout, st.Catalog, given)
			})
		},
	}
}

func complete(ctx context.Context, w io.Writer, runs catalog.Catalog, given []string) error {
	switch text := given[1]; {
	case given[0] == knownRun:
		return completeRuns(ctx, w, runs, text)
	case given[0] == knownLabel:
		return completeLabels(ctx, w, runs, text)
	case given[0] == knownOutput && len(given) == 3:
		return completeOutputs(ctx, w, runs, text, given[2])
	}
	return command.Usagef("there is no completion for %q", given[0])
}

// completeRuns offers ids by a part of the id or of what ran.
func completeRuns(ctx context.Context, w io.Writer, runs catalog.Catalog, text string) error {
	found, err := runs.List(ctx, catalog.Filter{Text: text, Limit: offered})
	seen := map[string]bool{}
	for _, run := range found {
		if !seen[run.ID] {
			candidate(w, run.ID, fmt.Sprintf("%s (%s)", format.Cut(result.Ran(run.Request), ranMax), run.State))
		}
		seen[run.ID] = true
	}
	return err
}

// completeLabels offers the labels of the newest runs.
func completeLabels(ctx context.Context, w io.Writer, runs catalog.Catalog, text string) error {
	found, err := runs.List(ctx, catalog.Filter{Limit: offered})
	labels := map[string]bool{}
	for _, run := range found {
		for name, value := range run.Labels {
			labels[name+"="+value] = true
		}
	}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		if strings.HasPrefix(label, text) {
			candidate(w, label, "label")
		}
	}
	return err
}

func completeOutputs(ctx context.Context, w io.Writer, runs catalog.Catalog, text, name string) error {
	run, err := runs.Find(ctx, name)
	if err != nil {
		return err
	}
	n := 0
	return runs.Outputs(ctx, run.Key, func(e outputs.Entry) bool {
		if e.Rejected == "" && strings.HasPrefix(string(e.Path), text) {
			candidate(w, string(e.Path), format.Size(e.Size))
			n++
		}
		return n < offered
	})
}

// words are candidates and what they are.
type words struct {
	about string
	list  func(*command.Program) ([]string, error)
}

// withoutStores are the candidates that need no catalog.
func withoutStores() map[string]*words {
	return map[string]*words{
		knownImage: {"image", func(p *command.Program) ([]string, error) {
			names, err := command.ImageNames(p)
			return append([]string{"host"}, names...), err
		}},
		knownKey: {"key", func(*command.Program) ([]string, error) { return options.ConfigKeys(), nil }},
		knownShort: {"short name", func(p *command.Program) ([]string, error) {
			names, err := p.Options.ShortNames()
			return slices.Sorted(maps.Keys(names)), err
		}},
	}
}

func completeFrom(c *cli.Context, p *command.Program, text string, from *words) error {
	if err := p.Load(c); err != nil {
		return err
	}
	list, err := from.list(p)
	for _, word := range list {
		if strings.HasPrefix(word, text) {
			candidate(p.Stdout, word, from.about)
		}
	}
	return err
}

// candidate prints a value that a shell takes as it is. An analysis chooses the names of its outputs: those with characters
// that mean something to a shell are left out.
func candidate(w io.Writer, value, about string) {
	if format.ShellQuote(value) == value && !strings.HasPrefix(value, "-") {
		fmt.Fprintf(w, "%s\t%s\n", value, about) //nolint:errcheck // a shell that went away needs none
	}
}

// knownOf is what a command's first and second arguments are, if completion knows such.
func knownOf(l leaf) (first, second string) {
	switch usage := l.command.ArgsUsage; {
	case usage == "ID PATH":
		return knownRun, knownOutput
	case usage == "ID DIR":
		return knownRun, ""
	case strings.HasPrefix(usage, "ID"):
		return knownRun, knownRun
	}
	switch strings.Join(l.path, " ") {
	case "image rm":
		return knownImage, knownImage
	case "image pull":
		return knownShort, ""
	case "config set", "config get", "config unset":
		return knownKey, ""
	}
	return "", ""
}

// knownFlags are the flags whose values completion knows.
func knownFlags() map[string]string {
	return map[string]string{"again": knownRun, "against": knownRun, "label": knownLabel, "rootfs": knownImage}
}
