package command

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores/drivers"
	"github.com/scidex-ai/scidex-oci/internal/suggest"
)

// Arrange rewrites a command line into the one form that the flag package parses without doubt: global flags, cmd, its flags
// as --name=value, "--", and the rest. So global flags may follow the cmd, flags may follow the arguments of every command
// but those that run another one, and an unknown word is reported in one sentence.
func Arrange(app *cli.App, args []string) ([]string, error) {
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	p := parser{global: app.Flags, rest: args, path: []string{app.Name}}
	commands := app.Commands
	var cmd *cli.Command
	for len(commands) > 0 {
		p.below = commands
		word, err := p.next()
		if err != nil {
			return nil, err
		}
		if word == nil {
			return p.line(), nil
		}
		below := find(commands, *word)
		if below == nil { // it may be an argument
			p.rest = append([]string{*word}, p.rest...)
			if cmd != nil && cmd.Action != nil {
				break
			}
			below = implied(cmd, *word)
		}
		cmd = below
		if cmd == nil {
			return nil, unknownCommand(*word, commands, p.commands()[1:])
		}
		if isNetEntry(cmd) {
			return nil, drivers.ErrMissing
		}
		p.enter(cmd)
		commands = cmd.Subcommands
	}
	p.below = nil
	if err := p.arguments(!p.another); err != nil {
		return nil, err
	}
	return p.line(), nil
}

// implied is the command that is left out before a word: ls after outputs, unless the word is more likely a mistyped command.
func implied(cmd *cli.Command, word string) *cli.Command {
	if cmd == nil || cmd.Name != "outputs" || suggest.DidYouMean(word, Names(cmd.Subcommands), "") != "" {
		return nil
	}
	return find(cmd.Subcommands, "ls")
}

// runsAnother reports whether the arguments of a command are another command with its own flags.
func runsAnother(cmd *cli.Command) bool {
	return slices.Contains([]string{"run", "spec", "submit", "docker"}, cmd.Name)
}

// parser parses a command line.
type parser struct {
	global, local []cli.Flag
	rest          []string
	path          []string       // the program and the commands
	below         []*cli.Command // one of them is to follow
	globalFlags   []string
	localFlags    []string // of the innermost command
	words         []string
	ended         bool // "--" was seen
	another       bool // the command runs another one, whose flags follow "--"
	runs          bool // the command takes the flags of run
}

func (p *parser) enter(cmd *cli.Command) {
	top := len(p.path) == 1
	p.another, p.runs = top && runsAnother(cmd), top && lookupFlag(cmd.Flags, "script") != nil
	// Flags before a subcommand belong to its parent, which has none but --help.
	p.path = append(append(p.path, p.localFlags...), cmd.Name)
	p.localFlags, p.local = nil, cmd.Flags
}

// next takes flags up to the next word, which is nil at the end.
func (p *parser) next() (*string, error) {
	for len(p.rest) > 0 {
		arg := p.rest[0]
		p.rest = p.rest[1:]
		switch {
		case p.ended || arg == "-":
			return &arg, nil
		case !strings.HasPrefix(arg, "-"):
			return &arg, p.longDash(arg)
		case arg == "--":
			p.ended = true
		default:
			if err := p.flag(arg); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil // a nil word is the end
}

// arguments takes the words of the last cmd, and flags between them where mixed.
func (p *parser) arguments(mixed bool) error {
	for {
		word, err := p.next()
		if err != nil || word == nil {
			return err
		}
		p.words = append(p.words, *word)
		if !mixed {
			p.words = append(p.words, p.rest...)
			return nil
		}
	}
}

// flag takes one flag and its value.
func (p *parser) flag(arg string) error {
	given, value, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	flag, to := lookupFlag(p.local, given), &p.localFlags
	if flag == nil && p.docker(given) == "" { // -v is also --version
		flag, to = lookupFlag(p.global, given), &p.globalFlags
	}
	if flag == nil {
		return p.unknown(arg, given)
	}
	name := "--" + flag.Names()[0]
	if documented, ok := flag.(cli.DocGenerationFlag); ok && !documented.TakesValue() {
		if inline {
			if _, err := strconv.ParseBool(value); err != nil {
				return Usagef("flag %q takes true or false, not %q", name, value)
			}
			name += "=" + value
		}
		*to = append(*to, name)
		return nil
	}
	if !inline {
		if len(p.rest) == 0 {
			return Usagef("flag %q needs a value", name)
		}
		if value = p.rest[0]; value == "--" || p.has(value) {
			return Usagef("flag %q has no value before %q; give one, or leave the flag out (%s=%s if that is the value)", name, value, name, value)
		}
		p.rest = p.rest[1:]
	}
	*to = append(*to, name+"="+value)
	return nil
}

// line joins the parts.
func (p *parser) line() []string {
	line := append([]string{p.path[0]}, p.globalFlags...)
	line = append(line, p.path[1:]...)
	line = append(line, p.localFlags...)
	if len(p.words) > 0 {
		line = append(append(line, "--"), p.words...)
	}
	return line
}

func find(commands []*cli.Command, name string) *cli.Command {
	for _, cmd := range commands {
		if cmd.HasName(name) {
			return cmd
		}
	}
	return nil
}

// Names are the names of the commands that are not hidden.
func Names(commands []*cli.Command) []string {
	var all []string
	for _, cmd := range commands {
		if !cmd.Hidden {
			all = append(all, cmd.Name)
		}
	}
	return all
}

func lookupFlag(flags []cli.Flag, name string) cli.Flag {
	for _, flag := range flags {
		if slices.Contains(flag.Names(), name) {
			return flag
		}
	}
	return nil
}
