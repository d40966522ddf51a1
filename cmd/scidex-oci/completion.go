package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/suggest"
)

func newCompletionCommand(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the completion script of a shell",
		UsageText: "scidex-oci completion bash|zsh|fish",
		ArgsUsage: "bash|zsh|fish",
		Description: `bash: source <(scidex-oci completion bash)
zsh:  scidex-oci completion zsh > "${fpath[1]}/_scidex-oci"
fish: scidex-oci completion fish > ~/.config/fish/completions/scidex-oci.fish`,
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, 1)
			if err != nil {
				return err
			}
			write := completions()[given[0]]
			if write == nil {
				return command.Usagef("no completion for shell %q%s", given[0], suggest.DidYouMean(given[0], shells(), ""))
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

// flagDoc is a flag as documents and shells need it.
type flagDoc struct {
	names  []string // long first
	value  string   // placeholder; empty for a switch
	usage  string
	choice []string // the words it takes, where they are few
}

// flagDocs are the visible flags of a command.
func flagDocs(flags []cli.Flag) []flagDoc {
	var all []flagDoc
	for _, flag := range flags {
		if v, ok := flag.(cli.VisibleFlag); ok && !v.IsVisible() {
			continue
		}
		o := flagDoc{names: flag.Names(), choice: choices()[flag.Names()[0]]}
		if doc, ok := flag.(cli.DocGenerationFlag); ok {
			o.usage = doc.GetUsage()
			if doc.TakesValue() {
				o.value = placeholder(o.usage)
			}
		}
		o.usage = strings.ReplaceAll(o.usage, "`", "")
		all = append(all, o)
	}
	return all
}

// placeholder is the word in backquotes, as in cli's help.
func placeholder(usage string) string {
	if parts := strings.SplitN(usage, "`", 3); len(parts) == 3 {
		return parts[1]
	}
	return "VALUE"
}

// choices are the flags that take one of a few words.
func choices() map[string][]string {
	return map[string][]string{
		"ids": {"range", "self"}, "limits": {"enforce", "outer", "best-effort"}, "work-storage": {"disk", "tmpfs"}, "digest-inputs": {"script", "listing", "full"}, "keep-replays": {"never", "failed", "always"}, "keep": {"never", "failed", "always"},
		"post-process-on": {"complete", "always"},
		"network":         {"none"}, "rootfs": {"host"}, "log-level": {"debug", "info", "warn", "error"}, "state": options.States(), "reason": options.Reasons(),
	}
}

// dashed is a flag's name as it is typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func typed(all []flagDoc) string {
	var list []string
	for _, o := range all {
		for _, name := range o.names {
			list = append(list, dashed(name))
		}
	}
	return strings.Join(list, " ")
}

// flagCases are the lines of a shell's case statement for flags that take a value.
func flagCases(all []flagDoc, pattern func(flagDoc) string, line func(o flagDoc, pattern string) string) string {
	var b strings.Builder
	done := map[string]bool{}
	for _, o := range all {
		if o.value == "" || done[o.names[0]] {
			continue
		}
		done[o.names[0]] = true
		fmt.Fprintln(&b, line(o, pattern(o)))
	}
	return b.String()
}
