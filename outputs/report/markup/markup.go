// Package markup turns the Markdown and HTML of an adversary into HTML that shows text, tables and images and nothing else.
//
// There are two walls. A sanitiser that others attack too, bluemonday, drops whatever executes, loads or styles. What it
// leaves is parsed as a browser does and written anew from a short list of elements, none of which has an attribute of the
// adversary's but spans of cells (write.go): that also gives the page what the sanitiser cannot know, such as headings in
// their order, headers of tables that screen readers find, and characters that are seen.
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
}

// Markdown writes CommonMark with tables and strikethrough. Mathematics between dollars stays as it is written.
func (p *Page) Markdown(source string) string {
	var made bytes.Buffer
	if err := converter().Convert([]byte(source), &made); err != nil {
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
