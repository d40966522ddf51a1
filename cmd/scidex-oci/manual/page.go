// Package manual makes help and man pages from one description of a command.
package manual

import (
	"cmp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Page is what help and the man page of a command say, in this order.
type Page struct {
	Name, Usage   string
	Examples      []Example
	Synopsis      []string // a line each
	Description   string
	Commands      []Entry
	Flags         []Group
	FlagsHeadline string
}

// Example is a command line and what it does.
type Example struct{ Line, Why string }

// Entry is a command below this one. The name may be that of a man page with its section.
type Entry struct{ Name, Usage string }

// Group is flags that belong together. The name is empty for those of no group.
type Group struct {
	Name  string
	Flags []Flag
}

// Flag is a visible flag.
type Flag struct {
	Names []string // long first
	Value string   // placeholder; empty for a switch
	Usage string
}

// Term is a flag and its value as they are typed.
func (f Flag) Term() string {
	var forms []string
	for _, name := range slices.Backward(f.Names) {
		forms = append(forms, Dashed(name))
	}
	return strings.TrimSpace(strings.Join(forms, ", ") + " " + f.Value)
}

// Dashed is a flag's name as it is typed.
func Dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// Flags are the visible flags of a command.
func Flags(flags []cli.Flag) []Flag {
	var all []Flag
	for _, flag := range visible(flags) {
		f := Flag{Names: flag.Names()}
		if doc, ok := flag.(cli.DocGenerationFlag); ok {
			f.Usage = doc.GetUsage()
			if doc.TakesValue() {
				f.Value = placeholder(f.Usage)
			}
		}
		// A placeholder that begins the sentence, with a colon, is no word of it.
		f.Usage = strings.ReplaceAll(strings.TrimPrefix(f.Usage, "`"+f.Value+"`: "), "`", "")
		all = append(all, f)
	}
	return all
}

// Grouped are the visible flags by their categories, in the order of names; those without one come first.
func Grouped(flags []cli.Flag, names []string) []Group {
	of := map[string][]cli.Flag{}
	for _, flag := range visible(flags) {
		category := ""
		if c, ok := flag.(cli.CategorizableFlag); ok {
			category = c.GetCategory()
		}
		of[category] = append(of[category], flag)
	}
	var groups []Group
	for _, name := range append([]string{""}, names...) {
		if len(of[name]) > 0 {
			groups = append(groups, Group{name, Flags(of[name])})
		}
	}
	return helpLast(groups)
}

// helpLast moves --help to the end if it would be a group of its own.
func helpLast(groups []Group) []Group {
	if len(groups) > 1 && groups[0].Name == "" && len(groups[0].Flags) == 1 {
		last := &groups[len(groups)-1]
		last.Flags = append(last.Flags, groups[0].Flags...)
		return groups[1:]
	}
	return groups
}

func visible(flags []cli.Flag) []cli.Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(flag cli.Flag) bool {
		v, ok := flag.(cli.VisibleFlag)
		return ok && !v.IsVisible()
	})
}

// placeholder is the word in backquotes.
func placeholder(usage string) string {
	if parts := strings.SplitN(usage, "`", 3); len(parts) == 3 {
		return parts[1]
	}
	return "VALUE"
}

// headline is that of a group of flags.
func (p Page) headline(g Group) string {
	return cmp.Or(strings.ToUpper(g.Name), p.FlagsHeadline)
}
