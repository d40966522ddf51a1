package manual

import (
	"strings"
	"unicode/utf8"
)

const (
	margin = 2
	// wide is the least width, in columns, that has room for two columns of terms and texts.
	wide = 72
	// longest is the column, on a wide terminal, after which a term has a line of its own.
	longest = 28
	// narrow is where the texts of terms start on a narrow terminal.
	narrow = 6
)

// text is wrapped text.
type text struct {
	strings.Builder
	width int
}

// Help is the page as --help prints it, for a terminal of that many columns.
func (p Page) Help(width int) string {
	t := &text{width: width}
	t.fill("", margin, strings.Fields(p.Name+" - "+p.Usage), "")
	t.examples(p.Examples)
	if len(p.Synopsis) > 0 {
		t.head("USAGE")
	}
	for _, line := range p.Synopsis {
		t.fill(blank(margin), 3*margin, strings.Fields(line), "")
	}
	t.description(p.Description)
	var rows [][2]string
	for _, c := range p.Commands {
		rows = append(rows, [2]string{c.Name, c.Usage})
	}
	t.table("COMMANDS", rows)
	for _, g := range p.Flags {
		rows = nil
		for _, f := range g.Flags {
			rows = append(rows, [2]string{f.Term(), f.Usage})
		}
		t.table(p.headline(g), rows)
	}
	return t.String()
}

func (t *text) head(name string) { t.WriteString("\n" + name + "\n") }

func (t *text) examples(all []Example) {
	if len(all) > 0 {
		t.head("EXAMPLES")
	}
	for _, e := range all {
		t.fill(blank(margin), 3*margin, shellWords(e.Line), ` \`)
		t.fill(blank(3*margin), 3*margin, strings.Fields(e.Why), "")
	}
}

func (t *text) description(description string) {
	if description == "" {
		return
	}
	t.head("DESCRIPTION")
	for _, b := range blocks(description) {
		if b.spaced {
			t.WriteString("\n")
		}
		prefix := blank(margin+b.indent) + b.term
		hang := utf8.RuneCountInString(prefix)
		t.fill(prefix, min(hang, margin+b.indent+longest/2), strings.Fields(b.text), "")
	}
}

// table has terms and their texts in two columns, or below each other on a narrow terminal.
func (t *text) table(name string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	t.head(name)
	column := narrow
	if t.width >= wide {
		column = 0
		for _, row := range rows {
			if end := margin + utf8.RuneCountInString(row[0]) + 2; end <= longest {
				column = max(column, end)
			}
		}
		column = max(column, 3*margin)
	}
	for _, row := range rows {
		prefix := blank(margin) + row[0]
		if gap := column - utf8.RuneCountInString(prefix); gap >= 2 {
			t.fill(prefix+blank(gap), column, strings.Fields(row[1]), "")
			continue
		}
		t.fill(blank(margin), 2*margin, strings.Fields(row[0]), "")
		t.fill(blank(column), column, strings.Fields(row[1]), "")
	}
}

// fill writes words after prefix and breaks lines between them; all lines but the last end with mark. Lines after the first
// are indented by hang columns, or by less if a word needs the columns.
func (t *text) fill(prefix string, hang int, words []string, mark string) {
	line, empty := prefix, true
	for _, word := range words {
		length := utf8.RuneCountInString(word) + len(mark)
		if !empty && utf8.RuneCountInString(line)+1+length > t.width {
			t.WriteString(line + mark + "\n")
			line, empty = blank(hang), true
		}
		switch {
		case !empty:
			line += " "
		case strings.TrimSpace(line) == "":
			line = blank(max(0, min(len(line), t.width-length)))
		}
		line += word
		empty = false
	}
	t.WriteString(strings.TrimRight(line, " ") + "\n")
}

func blank(n int) string { return strings.Repeat(" ", n) }

// shellWords splits a command line at blanks outside of single and double quotes.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	for _, c := range line + " " {
		switch {
		case quote == 0 && c == ' ':
			if word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		}
		word.WriteRune(c)
	}
	return words
}
