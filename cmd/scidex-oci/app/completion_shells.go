package app

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/manual"
)

// The scripts of urfave/cli (v2.27.7), with BashComplete in each command, would save the 245 lines of this file, and were tried. They evaluate what is
// typed, its command substitutions too, with one more argument; after "--" the library takes that for one of the analysis, so a tab
// runs it. They complete no values of flags, and the library's fish script nothing that a catalog knows.

// bashCompletion writes a completion that needs no package. It calls the program for what only a catalog knows.
func bashCompletion(w io.Writer, app *cli.App) error {
	var words, values strings.Builder
	every := flagDocs(app.Flags)
	for _, l := range leaves(app.Commands) {
		list := typed(append(flagDocs(l.command.Flags), flagDocs(app.Flags)...))
		list = strings.TrimSpace(strings.Join(command.Names(l.command.Subcommands), " ") + " " + list)
		first, second := knownOf(l)
		fmt.Fprintf(&words, "        %q) words=%q first=%q second=%q ;;\n", strings.Join(l.path, " "), list, first, second)
		every = append(every, flagDocs(l.command.Flags)...)
	}
	values.WriteString(flagCases(every, bashPattern, func(o flagDoc, pattern string) string {
		if len(o.choice) > 0 && o.known == "" {
			return fmt.Sprintf("        %s) COMPREPLY=($(compgen -W %q -- \"$current\")); return ;;", pattern, strings.Join(o.choice, " "))
		}
		if o.known != "" {
			return fmt.Sprintf("        %s) _scidex_oci_known %s; return ;;", pattern, o.known)
		}
		return fmt.Sprintf("        %s) COMPREPLY=($(compgen -f -- \"$current\")); return ;;", pattern)
	}))
	_, err := fmt.Fprintf(w, `# bash completion of scidex-oci; made by "scidex-oci completion bash".
# Several candidates are shown with what they are. Where they do not begin with what was typed, that stays: " " has
# no beginning in common with them.
_scidex_oci_known() {
    local value about values=() shown=() other=""
    while IFS=$'\t' read -r value about; do
        values+=("$value")
        shown+=("$value  [$about]")
        [[ "$value" == "$current"* ]] || other=" "
    done < <("${COMP_WORDS[0]}" complete "$1" "$current" ${2:+"$2"} 2>/dev/null)
    if ((${#values[@]} == 1)); then
        COMPREPLY=("${values[0]}")
    elif ((${#values[@]} > 1)); then
        COMPREPLY=("${shown[@]}" ${other:+"$other"})
    elif [[ "$1" == image ]]; then
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}
_scidex_oci() {
    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" path="" words="" first="" second="" given="" i word
    case "$previous" in
%s    esac
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        [[ "$word" == -- ]] && { COMPREPLY=($(compgen -f -- "$current")); return; }
        case "${path:+$path }$word" in
%s            *) [[ "$word" == -* ]] || given="$word" ;;
        esac
    done
    case "$path" in
        "") words=%q ;;
%s    esac
    if [[ "$current" != -* && -n "${given:+$second}" ]]; then
        _scidex_oci_known "$second" "$given"
    elif [[ "$current" != -* && -z "$given" && -n "$first" ]]; then
        _scidex_oci_known "$first"
    elif [[ "$current" == -* || -z "$path" || "$path" == outputs ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    else
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}
complete -o filenames -F _scidex_oci scidex-oci
`, values.String(), bashPaths(app), strings.Join(command.Names(app.Commands), " ")+" "+typed(flagDocs(app.Flags)), words.String())
	return err
}

// bashPaths are the words that lead deeper into the tree of commands.
func bashPaths(app *cli.App) string {
	var b strings.Builder
	for _, l := range leaves(app.Commands) {
		path := strings.Join(l.path, " ")
		fmt.Fprintf(&b, "            %q) path=%q ;;\n", path, path)
	}
	return b.String()
}

func bashPattern(o flagDoc) string {
	var list []string
	for _, name := range o.Names {
		list = append(list, manual.Dashed(name))
	}
	return strings.Join(list, "|")
}

// zshKnown offers what the program prints, whether or not it begins with what was typed.
const zshKnown = `_scidex_oci_known() {
    local value about
    local -a values shown
    while IFS=$'\t' read -r value about; do
        values+=("$value") shown+=("$value  [$about]")
    done < <(scidex-oci complete "$1" "$PREFIX" ${2:+"$2"} 2>/dev/null)
    if (( $#values )); then compadd -U -l -d shown -a values; else [[ "$1" == image ]] && _files; fi
}
`

// zshCompletion describes every command with _arguments.
func zshCompletion(w io.Writer, app *cli.App) error {
	var b strings.Builder
	b.WriteString("#compdef scidex-oci\n# zsh completion of scidex-oci; made by \"scidex-oci completion zsh\".\n" + zshKnown)
	for _, l := range leaves(app.Commands) {
		zshFunction(&b, "_scidex_oci_"+strings.Join(l.path, "_"), l)
	}
	zshFunction(&b, "_scidex_oci", leaf{command: &cli.Command{Flags: app.Flags, Subcommands: app.Commands}})
	b.WriteString("if [ \"$funcstack[1]\" = \"_scidex-oci\" ]; then _scidex_oci \"$@\"; else compdef _scidex_oci scidex-oci; fi\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func zshFunction(b *strings.Builder, name string, l leaf) {
	below := l.command.Subcommands
	fmt.Fprintf(b, "%s() {\n    local line state\n    _arguments -C", name)
	for _, o := range flagDocs(l.command.Flags) {
		for _, flag := range o.Names {
			fmt.Fprintf(b, " \\\n        '*%s'", zshFlag(manual.Dashed(flag), o))
		}
	}
	if len(below) == 0 {
		fmt.Fprintf(b, " \\\n        %s\n}\n", zshArguments(l))
		return
	}
	b.WriteString(" \\\n        '1: :->command' '*:: :->rest'\n    case $state in\n    command) _values command")
	for _, command := range below {
		if !command.Hidden {
			fmt.Fprintf(b, " %s", zshQuoted(command.Name+"["+zshText(command.Usage)+"]"))
		}
	}
	fmt.Fprintf(b, " ;;\n    rest) (( $+functions[%s_$line[1]] )) && %s_$line[1] ;;\n    esac\n}\n", name, name)
}

// zshArguments describes the arguments of a command.
func zshArguments(l leaf) string {
	first, second := knownOf(l)
	switch {
	case first == "":
		return "'*:argument:_files'"
	case second == "":
		return "'1:id: _scidex_oci_known " + first + "' '*:argument:_files'"
	case second == first:
		return "'*:name: _scidex_oci_known " + first + "'"
	}
	return "'1:id: _scidex_oci_known " + first + "' '2:path: _scidex_oci_known " + second + " $words[CURRENT-1]'"
}

func zshFlag(flag string, o flagDoc) string {
	text := flag + "[" + zshText(o.Usage) + "]"
	switch {
	case o.known != "":
		text = flag + "=[" + zshText(o.Usage) + "]:" + strings.ToLower(zshText(o.Value)) + ": _scidex_oci_known " + o.known
	case len(o.choice) > 0:
		text = flag + "=[" + zshText(o.Usage) + "]:" + strings.ToLower(zshText(o.Value)) + ":(" + strings.Join(o.choice, " ") + ")"
	case o.Value != "" && len(flag) > 2:
		text = flag + "=[" + zshText(o.Usage) + "]:" + strings.ToLower(zshText(o.Value)) + ":_files"
	case o.Value != "":
		text += ":" + strings.ToLower(zshText(o.Value)) + ":_files"
	}
	return strings.ReplaceAll(text, "'", `'\''`)
}

func zshQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// zshText escapes what _arguments and _values read in a description.
func zshText(text string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`).Replace(text)
}

// fishCompletion writes one complete line a flag and command.
func fishCompletion(w io.Writer, app *cli.App) error {
	var b strings.Builder
	b.WriteString("# fish completion of scidex-oci; made by \"scidex-oci completion fish\".\n")
	top := "not __fish_seen_subcommand_from " + strings.Join(command.Names(app.Commands), " ")
	fishCommands(&b, app.Commands, top)
	fishFlags(&b, app.Flags, "true")
	for _, l := range leaves(app.Commands) {
		condition := "__fish_seen_subcommand_from " + strings.Join(l.path, "; and __fish_seen_subcommand_from ")
		if below := command.Names(l.command.Subcommands); len(below) > 0 {
			condition += "; and not __fish_seen_subcommand_from " + strings.Join(below, " ")
		} else if len(l.path) == 1 && l.command.Name == "ls" {
			condition += "; and not __fish_seen_subcommand_from outputs"
		}
		fishCommands(&b, l.command.Subcommands, condition)
		fishFlags(&b, l.command.Flags, condition)
		fishArguments(&b, l, condition)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fishArguments describes the arguments of a command.
func fishArguments(b *strings.Builder, l leaf, condition string) {
	switch first, second := knownOf(l); {
	case first == "":
	case second == first || second == "":
		fmt.Fprintf(b, "complete -c scidex-oci -n %s -k -a %s\n", fishQuoted(condition), fishQuoted(fishKnown(first)))
	default:
		last := "string match -q " + l.command.Name + " -- (commandline -opc)[-1]"
		fmt.Fprintf(b, "complete -c scidex-oci -f -n %s -k -a %s\n", fishQuoted(condition+"; and "+last), fishQuoted(fishKnown(first)))
		fmt.Fprintf(b, "complete -c scidex-oci -f -n %s -a %s\n", fishQuoted(condition+"; and not "+last), fishQuoted(fishKnown(second)))
	}
}

// fishKnown prints the candidates. The word before is the run of an output.
func fishKnown(kind string) string {
	run := ""
	if kind == knownOutput {
		run = " (commandline -opc)[-1]"
	}
	return "(scidex-oci complete " + kind + " (commandline -ct)" + run + " 2>/dev/null)"
}

func fishCommands(b *strings.Builder, commands []*cli.Command, condition string) {
	for _, command := range commands {
		if !command.Hidden {
			fmt.Fprintf(b, "complete -c scidex-oci -f -n %s -a %s -d %s\n", fishQuoted(condition), command.Name, fishQuoted(command.Usage))
		}
	}
}

func fishFlags(b *strings.Builder, flags []cli.Flag, condition string) {
	for _, o := range flagDocs(flags) {
		fmt.Fprintf(b, "complete -c scidex-oci -n %s", fishQuoted(condition))
		for _, name := range o.Names {
			if len(name) == 1 {
				fmt.Fprintf(b, " -s %s", name)
			} else {
				fmt.Fprintf(b, " -l %s", name)
			}
		}
		switch {
		case o.known != "":
			fmt.Fprintf(b, " -r -a %s", fishQuoted(fishKnown(o.known)))
		case len(o.choice) > 0:
			fmt.Fprintf(b, " -x -a %s", fishQuoted(strings.Join(o.choice, " ")))
		case o.Value != "":
			b.WriteString(" -r")
		}
		fmt.Fprintf(b, " -d %s\n", fishQuoted(o.Usage))
	}
}

func fishQuoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
