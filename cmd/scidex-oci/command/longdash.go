package command

import (
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/suggest"
)

// longDashes are what word processors and web pages make of "--": em dash, en dash, horizontal bar and minus sign.
const longDashes = "—–―−"

// longDash refuses a word that was a flag before it was pasted. After "--" any word may begin so.
func (p *parser) longDash(word string) error {
	name := strings.TrimLeft(word, longDashes)
	if name == word {
		return nil
	}
	if name == "" {
		return Usagef("%q is a long dash; did you mean \"--\"?", word)
	}
	given, value, inline := strings.Cut(strings.TrimLeft(name, "-"), "=")
	meant := `; a flag begins with "--", and "--" goes before an argument that begins so`
	if flag := p.lookup(given); flag != nil {
		meant = "; did you mean --" + flag.Names()[0]
		if inline {
			meant += "=" + value
		}
		meant += "?"
	} else if near := suggest.Flag(given, p.visible()); near != "" {
		meant = near
	}
	return Usagef("%q begins with a long dash%s", word, meant)
}
