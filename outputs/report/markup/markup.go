// Package markup turns the Markdown and HTML of an adversary into HTML that shows text, tables and images and nothing else.
//
// There are two steps, each of which is enough against an attack. A well-known sanitiser, bluemonday, drops whatever
// executes, loads or styles. What it leaves is parsed as a browser does and written again from a short list of
// elements, which have no attribute of the adversary's but spans of cells (write.go). That also gives the page what a
// sanitiser cannot: headings in their order, headers of tables that screen readers find, and marks for invisible
// characters.
package markup

import (
	"bytes"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// Page is what a text is written for.
type Page struct {
	// Text is a text as HTML.
	Text func(string) string
	// Image is the HTML of an image, by its source.
	Image func(source, alt string) string
	// Region is the name of the next region that scrolls; no two are the same.
	Region func() string
	// Headed reports whether a heading of the upper of the two levels was written.
	Headed bool

	cost float64 // of all Markdown so far
}

// costMax is what Markdown on one page may cost, as cost counts it: some seconds at the very most.
const costMax = 4e9

// cost is how long Markdown may take, in steps of about a nanosecond. It takes quadratic time for brackets and stars
// that nothing closes, and fills up the rows of a table. A source that is nested deeply in quotes or lists costs more
// than costMax.
func cost(source string) float64 {
	total := 0.0
	for block := range strings.SplitSeq(strings.ReplaceAll(source, "\r", "\n"), "\n\n") {
		length, lines, columns := float64(len(block)), 1+strings.Count(block, "\n"), 0
		for line := range strings.SplitSeq(block, "\n") {
			columns = max(columns, strings.Count(line, "|"))
			if markers(line) > nestedMax {
				return costMax
			}
		}
		total += length*length + 20_000*float64(columns*lines)
	}
	return total
}

// nestedMax is the number of quotes and lists in one another.
const nestedMax = 40

// markers counts what begins quotes and lists at the beginning of a line, and more.
func markers(line string) int {
	start := line[:len(line)-len(strings.TrimLeft(line, " \t>-*+0123456789.)"))]
	return strings.Count(start, ">") + len(strings.Fields(start))
}

// Markdown writes CommonMark with tables and strikethrough. Mathematics between dollars stays as it is written. It
// returns "" if the page would take too long.
func (p *Page) Markdown(source string) string {
	var made bytes.Buffer
	if p.cost += cost(source); p.cost >= costMax {
		return ""
	}
	if err := converter().Convert([]byte(joinMath(source)), &made); err != nil {
		return "<p>" + p.Text(source) + "</p>"
	}
	return p.HTML(made.String())
}

func converter() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough),
		goldmark.WithParserOptions(parser.WithInlineParsers(util.Prioritized(mathParser{}, 150))),
		goldmark.WithRendererOptions(html.WithUnsafe()), // HTML in it is sanitised with the rest
	)
}

// HTML writes a part of a page, "" if nothing in it is shown.
func (p *Page) HTML(source string) string {
	w := writer{page: p}
	if !w.parse(policy().Sanitize(source)) {
		return "<p>" + p.Text("This HTML is not shown: its elements lie too deep in one another.") + "</p>"
	}
	made := strings.TrimSpace(w.String())
	switch {
	case w.full:
		return made + "<p>" + p.Text("Only the beginning of this HTML is shown.") + "</p>"
	case w.shown:
		return made
	}
	return ""
}

// policy is what the sanitiser leaves.
func policy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements(strings.Fields(`p br hr div span b strong i em u s del ins mark small sub sup code pre kbd samp var tt
		blockquote q cite abbr center section article header footer main figure figcaption details summary
		ul ol li dl dt dd h1 h2 h3 h4 h5 h6 table caption thead tbody tfoot tr th td a img`)...)
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("src", "alt").OnElements("img")
	p.AllowAttrs("colspan", "rowspan").Matching(bluemonday.Integer).OnElements("th", "td")
	p.AllowNoAttrs().OnElements("a", "img")
	p.AllowURLSchemes("http", "https", "mailto", "ftp", "attachment")
	p.AllowDataURIImages()
	p.AllowRelativeURLs(true)
	p.RequireParseableURLs(true)
	return p
}
