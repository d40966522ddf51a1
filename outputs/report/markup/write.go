package markup

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"

	parse "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	depthMax   = 100     // elements in one another
	sizeMax    = 1 << 20 // bytes that are written
	spanMax    = 100     // columns or rows of a cell
	addressMax = 200     // characters
)

// writer writes a parsed tree as HTML.
type writer struct {
	strings.Builder
	page  *Page
	shown bool // something that is seen
	table bool // within one
	depth int
	deep  bool // depthMax was reached
	image int  // bytes of images, which the page bounds
	full  bool // sizeMax was reached
}

// parse parses source and writes it. It returns false if the source cannot be parsed or its elements are nested too deep.
func (w *writer) parse(source string) bool {
	body := &parse.Node{Type: parse.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := parse.ParseFragment(strings.NewReader(source), body)
	if err != nil {
		return false
	}
	for _, n := range nodes {
		w.node(n)
	}
	return !w.deep
}

// plain are the elements that are written as they are, and those that replace others.
var plain = map[atom.Atom]string{
	atom.P: "p", atom.Strong: "strong", atom.B: "strong", atom.Em: "em", atom.I: "em", atom.Cite: "em", atom.Var: "em",
	atom.Del: "del", atom.S: "del", atom.Sub: "sub", atom.Sup: "sup", atom.Code: "code", atom.Kbd: "code", atom.Samp: "code", atom.Tt: "code",
	atom.Pre: "pre", atom.Blockquote: "blockquote", atom.Div: "div", atom.Section: "div", atom.Article: "div", atom.Center: "div",
	atom.Header: "div", atom.Footer: "div", atom.Main: "div", atom.Figure: "div", atom.Figcaption: "div", atom.Details: "div", atom.Summary: "div",
	atom.Dl: "div", atom.Dt: "div", atom.Dd: "div", atom.Li: "div",
}

func (w *writer) node(n *parse.Node) {
	w.deep, w.full = w.deep || w.depth == depthMax, w.full || w.size() > sizeMax
	if w.deep || w.full {
		return
	}
	w.depth++
	if n.Type == parse.TextNode {
		w.text(n.Data)
	}
	if n.Type == parse.ElementNode {
		w.element(n)
	}
	w.depth--
}

func (w *writer) size() int { return w.Len() - w.image }

func (w *writer) text(s string) {
	w.shown = w.shown || strings.TrimSpace(s) != ""
	w.WriteString(w.page.Text(s))
}

func (w *writer) element(n *parse.Node) {
	if name := plain[n.DataAtom]; name != "" {
		w.within(name, "", n)
		return
	}
	switch n.DataAtom {
	case atom.Br:
		w.WriteString("<br>")
	case atom.Hr:
		w.WriteString("<hr>")
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.heading(n)
	case atom.Ul, atom.Ol:
		w.list(n)
	case atom.A:
		w.link(n)
	case atom.Img:
		image := w.page.Image(attribute(n, "src"), attribute(n, "alt"))
		w.shown, w.image = true, w.image+len(image)
		w.WriteString(image)
	case atom.Table:
		w.tableOf(n)
	default: // its contents are shown
		w.inside(n)
	}
}

func (w *writer) inside(n *parse.Node) {
	for c := range n.ChildNodes() {
		w.node(c)
	}
}

func (w *writer) within(name, attributes string, n *parse.Node) {
	w.WriteString("<" + name + attributes + ">")
	w.inside(n)
	w.WriteString("</" + name + ">")
}

// heading has one of the two lowest levels, since those above are the page's. It looks as large as it was meant.
func (w *writer) heading(n *parse.Node) {
	if strings.TrimSpace(content(n)) == "" {
		w.inside(n)
		return
	}
	level, name := n.Data[1:], "h5"
	if level <= "2" || !w.page.Headed {
		name, w.page.Headed = "h4", true
	}
	w.within(name, ` class="m`+level+`"`, n)
}

// list has only items.
func (w *writer) list(n *parse.Node) {
	w.WriteString("<" + n.Data + ">")
	for c := range n.ChildNodes() {
		if c.DataAtom == atom.Li {
			w.within("li", "", c)
		} else if c.Type != parse.TextNode || strings.TrimSpace(c.Data) != "" {
			w.WriteString("<li>")
			w.node(c)
			w.WriteString("</li>")
		}
	}
	w.WriteString("</" + n.Data + ">")
}

// link is a text and, if it leads away, the address, as text: the adversary chose it.
func (w *writer) link(n *parse.Node) {
	w.inside(n)
	to := attribute(n, "href")
	if to == "" || strings.HasPrefix(to, "#") || strings.TrimSpace(content(n)) == to {
		return
	}
	if utf8.RuneCountInString(to) > addressMax {
		to = string([]rune(to)[:addressMax]) + "…"
	}
	w.WriteString(` <span class="away">&lt;`)
	w.text(to)
	w.WriteString("&gt;</span>")
}

// tableOf is a table in a region that scrolls. One in another is text.
func (w *writer) tableOf(n *parse.Node) {
	if w.table {
		w.within("div", "", n)
		return
	}
	w.table = true
	fmt.Fprintf(w, `<div class="scroll" role="region" tabindex="0" aria-label="%s"><table>`, html.EscapeString(w.page.Region()))
	for c := range n.ChildNodes() {
		switch c.DataAtom {
		case atom.Caption:
			w.within("caption", "", c)
		case atom.Thead:
			w.rows("thead", c)
		case atom.Tbody, atom.Tfoot:
			w.rows("tbody", c)
		default: // groups of columns have no text
		}
	}
	w.WriteString("</table></div>")
	w.table = false
}

func (w *writer) rows(name string, n *parse.Node) {
	w.WriteString("<" + name + ">")
	for row := range n.ChildNodes() {
		if row.DataAtom != atom.Tr || w.size() > sizeMax {
			continue
		}
		w.WriteString("<tr>")
		heads := name == "thead" || has(row, atom.Td)
		for c := range row.ChildNodes() {
			w.cell(name, heads, c)
		}
		w.WriteString("</tr>\n")
	}
	w.WriteString("</" + name + ">")
}

// cell is a header of its column or row if it has text.
func (w *writer) cell(part string, heads bool, n *parse.Node) {
	if n.DataAtom != atom.Td && n.DataAtom != atom.Th {
		return
	}
	w.shown = true
	spans := span(n, "colspan") + span(n, "rowspan")
	switch {
	case n.DataAtom == atom.Td || !heads || strings.TrimSpace(content(n)) == "":
		w.within("td", spans, n)
	case part == "thead":
		w.within("th", ` scope="col"`+spans, n)
	default:
		w.within("th", ` scope="row"`+spans, n)
	}
}

func span(n *parse.Node, name string) string {
	count, err := strconv.Atoi(attribute(n, name))
	if err != nil || count < 2 || count > spanMax {
		return ""
	}
	return fmt.Sprintf(` %s="%d"`, name, count)
}

func has(n *parse.Node, a atom.Atom) bool {
	for c := range n.ChildNodes() {
		if c.DataAtom == a {
			return true
		}
	}
	return false
}

func attribute(n *parse.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func content(n *parse.Node) string {
	var b strings.Builder
	for below := range n.Descendants() {
		if below.Type == parse.TextNode {
			b.WriteString(below.Data)
		}
	}
	return b.String()
}
