package app

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/manual"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores/drivers"
	"github.com/scidex-ai/scidex-oci/internal/suggest"
)

func newCompletionCommand(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:        "completion",
		Usage:       "print the completion script of a shell",
		UsageText:   "scidex-oci completion bash|zsh|fish",
		ArgsUsage:   "bash|zsh|fish",
		Description: "The script knows the commands and flags of this version; make it again after an update.",
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, 1)
			if err != nil {
				return err
			}
			write := completions()[given[0]]
			if write == nil {
				return command.Usagef("no completion for shell %q%s", given[0], cmp.Or(suggest.DidYouMean(given[0], shells(), ""), "; give "+suggest.List(shells())))
			}
			if p.Net == nil {
				return drivers.ErrMissing // it has the flags of all commands
			}
			return write(p.Stdout, c.App)
		},
	}
}

// shells are those that completion knows.
func shells() []string { return []string{"bash", "fish", "zsh"} }

func completions() map[string]func(io.Writer, *cli.App) error {
	return map[string]func(io.Writer, *cli.App) error{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
}

// leaf is a command without subcommands and the words that lead to it: "outputs ls".
type leaf struct {
	path    []string
	command *cli.Command
}

// leaves are the visible commands of the tree, a command before its subcommands.
func leaves(commands []*cli.Command, above ...string) []leaf {
	var all []leaf
	for _, command := range commands {
		if command.Hidden {
			continue
		}
		path := append(slices.Clone(above), command.Name)
		all = append(all, leaf{path, command})
		all = append(all, leaves(command.Subcommands, path...)...)
	}
	return all
}

// flagDoc is a flag as shells need it.
type flagDoc struct {
	manual.Flag
	choice []string // the words it takes, where they are few
	known  string   // what the value names, where completion knows it
}

// flagDocs are the visible flags of a command.
func flagDocs(flags []cli.Flag) []flagDoc {
	var all []flagDoc
	for _, f := range manual.Flags(flags) {
		all = append(all, flagDoc{f, choices()[f.Names[0]], knownFlags()[f.Names[0]]})
	}
	return all
}

// choices are the flags that take one of a few words.
func choices() map[string][]string {
	return map[string][]string{
		"ids": {"range", "self"}, "limits": {"enforce", "outer", "best-effort"}, "work-storage": {"disk", "tmpfs"}, "digest-inputs": {"script", "listing", "full"}, "keep-replays": {"never", "failed", "always"}, "keep": {"never", "failed", "always"}, "preload": {"auto", "none"},
		"post-process-on": {"complete", "always"},
		"network":         {"none"}, "rootfs": {"host"}, "log-level": {"debug", "info", "warn", "error"}, "state": options.States(), "reason": options.Reasons(),
	}
}

func typed(all []flagDoc) string {
	var list []string
	for _, o := range all {
		for _, name := range o.Names {
			list = append(list, manual.Dashed(name))
		}
	}
	return strings.Join(list, " ")
}

// flagCases are the lines of a shell's case statement for flags that take a value.
func flagCases(all []flagDoc, pattern func(flagDoc) string, line func(o flagDoc, pattern string) string) string {
	var b strings.Builder
	done := map[string]bool{}
	for _, o := range all {
		if o.Value == "" || done[o.Names[0]] {
			continue
		}
		done[o.Names[0]] = true
		fmt.Fprintln(&b, line(o, pattern(o)))
	}
	return b.String()
}
