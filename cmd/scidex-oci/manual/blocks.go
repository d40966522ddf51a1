package manual

import (
	"regexp"
	"strings"
)

// block is a part of a description: a paragraph, an item of a list with its term, or an indented line.
type block struct {
	spaced bool // a blank line comes before it
	indent int
	term   string // of an item, with the blanks that follow it
	text   string
}

// blocks splits a description. Lines that are not indented are a paragraph, whatever their length in the source; an indented
// line with two blanks in it is an item; one that is indented further continues the item.
func blocks(text string) []block {
	var all []block
	spaced := false
	item := regexp.MustCompile(`^(\S.*?\s{2,})(\S.*)$`)
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		rest := strings.TrimLeft(line, " ")
		indent := len(line) - len(rest)
		last := len(all) - 1
		switch {
		case rest == "":
			spaced = true
			continue
		case last >= 0 && !spaced && continues(all[last], indent):
			all[last].text += " " + rest
		default:
			b := block{spaced: spaced && last >= 0, indent: indent, text: rest}
			if parts := item.FindStringSubmatch(rest); indent > 0 && parts != nil {
				b.term, b.text = parts[1], parts[2]
			}
			all = append(all, b)
		}
		spaced = false
	}
	return all
}

func continues(b block, indent int) bool {
	return b.indent == 0 && indent == 0 || b.term != "" && indent > b.indent
}
