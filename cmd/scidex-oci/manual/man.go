package manual

import (
	"bytes"
	"fmt"
	"strings"
)

// roff is a manual page in the man(7) macros.
type roff struct{ bytes.Buffer }

// The generator of urfave/cli (v2.27.7) would save these 110 lines, and was tried. It makes one page of all commands, without examples; it
// reads descriptions as Markdown, where SCIDEX_OCI_ROOT is half italic, and does not fill lines. Its Markdown parser and
// text/template would add 0.3 MB to every process.

// Man is the page for man(1); see is its section SEE ALSO. Lines are broken only between words, as in Help.
func (p Page) Man(see string) []byte {
	var r roff
	name := strings.ReplaceAll(p.Name, " ", "-")
	fmt.Fprintf(&r, ".TH %q 1 \"\" \"scidex-oci\" \"User Commands\"\n.nh\n.ad l\n", strings.ToUpper(name))
	r.head("NAME")
	fmt.Fprintf(&r, "%s \\- %s\n", escape(name), escape(p.Usage))
	r.examples(p.Examples)
	r.head("SYNOPSIS")
	r.lines(p.Synopsis)
	r.description(p.Description)
	if len(p.Commands) > 0 {
		r.head("COMMANDS")
	}
	for _, c := range p.Commands {
		name, section, _ := strings.Cut(c.Name, "(")
		r.item(strings.TrimSuffix(`\fB`+escape(name)+`\fR(`+section, "("), c.Usage)
	}
	for _, g := range p.Flags {
		r.head(p.headline(g))
		for _, f := range g.Flags {
			r.item(flagTerm(f), f.Usage)
		}
	}
	if see != "" {
		r.head("SEE ALSO")
		r.WriteString(escape(see) + "\n")
	}
	return r.Bytes()
}

func (r *roff) head(name string) { fmt.Fprintf(r, ".SH %s\n", name) }

func (r *roff) item(term, text string) { fmt.Fprintf(r, ".TP\n%s\n%s\n", term, escape(text)) }

// lines have a break between them.
func (r *roff) lines(all []string) {
	for i, line := range all {
		if i > 0 {
			r.WriteString(".br\n")
		}
		r.WriteString(escape(strings.TrimSpace(line)) + "\n")
	}
}

func (r *roff) examples(all []Example) {
	if len(all) > 0 {
		r.head("EXAMPLES")
	}
	for i, e := range all {
		if i > 0 {
			r.WriteString(".PP\n")
		}
		fmt.Fprintf(r, "\\fB%s\\fR\n.RS 4n\n%s\n.RE\n", escape(e.Line), escape(e.Why))
	}
}

func (r *roff) description(description string) {
	if description == "" {
		return
	}
	r.head("DESCRIPTION")
	for i, b := range blocks(description) {
		near := i > 0 && !b.spaced
		if near {
			r.WriteString(".PD 0\n")
		}
		r.block(b, i == 0)
		if near {
			r.WriteString(".PD\n")
		}
	}
}

func (r *roff) block(b block, first bool) {
	if b.term == "" && !first {
		r.WriteString(".PP\n")
	}
	switch {
	case b.term != "":
		fmt.Fprintf(r, ".TP 8n\n%s\n%s\n", escape(strings.TrimSpace(b.term)), escape(b.text))
	case b.indent > 0:
		fmt.Fprintf(r, ".RS 2n\n%s\n.RE\n", escape(b.text))
	default:
		r.WriteString(escape(b.text) + "\n")
	}
}

func flagTerm(f Flag) string {
	names := strings.TrimSuffix(f.Term(), " "+f.Value)
	parts := strings.Split(names, ", ")
	for i, part := range parts {
		parts[i] = `\fB` + escape(part) + `\fR`
	}
	term := strings.Join(parts, ", ")
	if f.Value != "" {
		term += ` \fI` + escape(f.Value) + `\fR`
	}
	return term
}

// escape keeps typed hyphens, and no line is read as a request.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}
