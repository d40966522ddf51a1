package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/internal/suggest"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/spec"
)

// unknown is the error of a flag that the command does not have. It names what to type instead if that is known.
func (p *parser) unknown(arg, given string) error {
	shown, _, _ := strings.Cut(arg, "=")
	if instead := p.docker(given); instead != "" {
		way := ""
		if !onlyDockers(given) {
			way = p.afterScript("; if", arg)
		}
		return Usagef("%s is docker's: %s%s", shown, instead, way)
	}
	if behind := p.behind(given); behind != "" {
		return Usagef("unknown flag %q before a command; it belongs behind %q", shown, behind)
	}
	meant := suggest.Flag(given, p.visible())
	if given == "format" && lookupFlag(p.local, "json") != nil {
		meant = `; did you mean "--json"?`
	}
	if given == "json" && lookupFlag(p.local, "format") != nil {
		meant = `; did you mean "--format json"?`
	}
	if given == "output" && lookupFlag(p.local, "out") != nil {
		meant = `; did you mean "--out"?` // --output of run is a pattern of files in /work
	}
	before := "; if"
	if meant != "" {
		before = " If"
	}
	way := meant + p.afterScript(before, arg)
	if way == "" {
		way = fmt.Sprintf("; see \"%s --help\"", strings.Join(p.commands(), " "))
	}
	return Usagef("unknown flag %q%s", shown, way)
}

// behind is the command that follows on the line and has the flag, "" if there is none.
func (p *parser) behind(given string) string {
	for _, word := range p.beforeEnd() {
		if cmd := find(p.below, word); cmd != nil && lookupFlag(cmd.Flags, given) != nil {
			return strings.Join(append(p.commands()[1:], cmd.Name), " ")
		}
	}
	return ""
}

// visible are the names of the flags that the help shows.
func (p *parser) visible() (known []string) {
	for _, flag := range append(slices.Clone(p.local), p.global...) {
		if v, ok := flag.(cli.VisibleFlag); !ok || v.IsVisible() {
			known = append(known, flag.Names()[0])
		}
	}
	return known
}

// commands are the program and the commands of the line, without flags.
func (p *parser) commands() []string {
	return slices.DeleteFunc(slices.Clone(p.path), func(word string) bool { return strings.HasPrefix(word, "-") })
}

// docker returns what to type instead of a flag of docker run, which the commands that run analyses are mistaken for.
func (p *parser) docker(given string) string {
	if !p.runs {
		return ""
	}
	return dockerFlag(given)
}

// afterScript says how to pass an unknown flag to the script of the command line. It is empty if there is no script.
func (p *parser) afterScript(before, arg string) string {
	if !p.another {
		return ""
	}
	line := p.withoutFlag(arg)
	for _, flag := range line.localFlags {
		if script, found := strings.CutPrefix(flag, "--script="); found {
			return before + " it is for " + filepath.Base(script) + `, put it after "--": ` + line.quoted()
		}
	}
	return line.afterBareScript(before, len(p.beforeEnd()))
}

// beforeEnd are the words left before "--".
func (p *parser) beforeEnd() []string {
	if end := slices.Index(p.rest, "--"); end >= 0 {
		return p.rest[:end]
	}
	return p.rest
}

// afterBareScript is afterScript for a script of the working directory that is given without --script, among the first
// words.
func (p *parser) afterBareScript(before string, words int) string {
	for i, word := range p.words[:min(len(p.words), 1+words)] {
		if !isLocalScript(word) {
			continue
		}
		p.localFlags = append(p.localFlags, "--script="+word)
		p.words = slices.Delete(p.words, i, i+1)
		return before + " it is for " + filepath.Base(word) + ", type: " + p.quoted()
	}
	return ""
}

// isLocalScript reports whether a word names a script below the working directory.
func isLocalScript(word string) bool {
	if !filepath.IsLocal(word) || !spec.HasInterpreter(word) {
		return false
	}
	info, err := os.Stat(word)
	return err == nil && info.Mode().IsRegular()
}

// withoutFlag is the command line with arg, and the words after it that are no flags of the command, after "--".
func (p *parser) withoutFlag(arg string) parser {
	q := *p
	q.localFlags, q.globalFlags, q.words = slices.Clone(p.localFlags), slices.Clone(p.globalFlags), []string{arg}
	for len(q.rest) > 0 && q.rest[0] != "--" {
		word := q.rest[0]
		q.rest = q.rest[1:]
		if !q.has(word) {
			q.words = append(q.words, word)
		} else if q.flag(word) != nil {
			break
		}
	}
	q.words = append(q.words, q.rest[min(1, len(q.rest)):]...)
	return q
}

// has reports whether a word is a flag of the command line. A short one is more likely the script's.
func (p *parser) has(word string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
	return strings.HasPrefix(word, "--") && p.lookup(name) != nil
}

// lookup finds a flag of the command line.
func (p *parser) lookup(name string) cli.Flag {
	if flag := lookupFlag(p.local, name); flag != nil {
		return flag
	}
	return lookupFlag(p.global, name)
}

// quoted is the command line as a shell reads it.
func (p *parser) quoted() string { return format.ShellLine(p.line()...) }
