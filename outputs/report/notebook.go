package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"html/template"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/report/markup"
	"github.com/scidex-ai/scidex-oci/outputs/report/notebook"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

const (
	notebooksShown = 3
	notebookMax    = 16 << 20 // bytes of all files on a page
	notebookText   = 3 << 20  // bytes of all notebooks on a page, but for their images
	notebookImages = 200      // of all notebooks on a page
)

const notebookType = "application/x-ipynb+json"

// isNotebook reports whether an output is one by its name.
func isNotebook(o result.Output) bool {
	return o.MediaType == notebookType || strings.EqualFold(path.Ext(o.Path), ".ipynb")
}

// book is a notebook on a page.
type book struct {
	Path, Size string
	Cells      []bookCell
	Error      string // id of the first cell with an error
	Failed     string // what that cell is called
	Notes      []string
}

// bookCell is one cell: written text, or code with what it put out.
type bookCell struct {
	ID      string // only of the first with an error
	Prompt  string
	Markup  template.HTML // of Markdown
	Source  string        // of others
	Outputs []bookOutput
	Notes   []string
}

// bookOutput is one output in the one of its types that shows most.
type bookOutput struct {
	Prompt string
	Class  string // "error" or "stderr"
	Markup template.HTML
	Figure *figure
	Text   []Coloured
	Notes  []string
}

// bookReader reads the notebooks of a page.
type bookReader struct {
	gallery *gallery
	unread  int64 // bytes of files that are left
	left    int   // bytes of text
	images  int   // that are left
	shown   int
}

func newBookReader(g *gallery) *bookReader {
	return &bookReader{gallery: g, unread: notebookMax, left: notebookText, images: notebookImages}
}

// book shows one notebook.
func (s *bookReader) book(o result.Output) book {
	s.shown++
	b := book{Path: o.Path, Size: format.Size(o.Size)}
	if s.unread -= o.Size; s.unread < 0 {
		b.Notes = []string{fmt.Sprintf("Not shown: the notebooks of a page have no more than %s.", format.Size(notebookMax))}
		return b
	}
	content, err := whole(s.gallery.blobs, o.SHA256, notebookMax)
	if err != nil {
		b.Notes = []string{unread(err)}
		return b
	}
	s.read(&b, bytes.NewReader(content))
	return b
}

// read takes the cells of a notebook, as many as there is room for.
func (s *bookReader) read(b *book, r io.Reader) {
	n, err := notebook.Read(r)
	page := &pages{bookReader: s, book: b}
	page.markup = markup.Page{Text: page.text, Image: page.image, Region: page.region}
	for i, c := range n.Cells {
		if s.left <= 0 {
			n.More += len(n.Cells) - i
			break
		}
		b.Cells = append(b.Cells, page.cell(i, c))
	}
	if n.More > 0 {
		b.Notes = append(b.Notes, fmt.Sprintf("The first %s; there are %d more.", format.Count(len(b.Cells), "cell", "cells"), n.More))
	}
	switch {
	case err != nil && len(b.Cells) > 0:
		b.Notes = append(b.Notes, fmt.Sprintf("Shown as far as it is a notebook: %s.", err))
	case err != nil:
		b.Notes = append(b.Notes, fmt.Sprintf("Not shown: %s.", err))
	case len(b.Cells) == 0:
		b.Notes = append(b.Notes, "It has no cells.")
	}
}

// pages writes the cells of one notebook.
type pages struct {
	*bookReader
	book    *book
	markup  markup.Page
	now     notebook.Cell
	regions int
	inText  int // bytes of images in the text that is written
}

func (p *pages) cell(i int, c notebook.Cell) bookCell {
	p.now = c
	shown := bookCell{}
	switch c.Kind {
	case notebook.Markdown:
		if shown.Markup = p.markdown(c.Source); shown.Markup == "" && strings.TrimSpace(c.Source) != "" {
			shown.Source = p.spend(c.Source)
			shown.Notes = append(shown.Notes, "Shown as it is written: to set it as Markdown shows nothing, or would take too long.")
		}
	case notebook.Code:
		shown.Source, shown.Prompt = p.spend(c.Source), prompt("In", c.Number)
	default:
		shown.Source = p.spend(c.Source)
	}
	if c.Cut {
		shown.Notes = append(shown.Notes, "Only the beginning of this cell is shown.")
	}
	for _, o := range c.Outputs {
		if p.left <= 0 {
			c.More++
			continue
		}
		shown.Outputs = append(shown.Outputs, p.output(o))
		if o.Error && p.book.Error == "" {
			p.book.Error = fmt.Sprintf("error-%d", p.shown)
			p.book.Failed = failed(i, c.Number)
			shown.ID = p.book.Error
		}
	}
	if c.More > 0 {
		shown.Notes = append(shown.Notes, fmt.Sprintf("There are %d more outputs.", c.More))
	}
	return shown
}

func failed(i, number int) string {
	if number > 0 {
		return fmt.Sprintf("In [%d]", number)
	}
	return fmt.Sprintf("cell %d", i+1)
}

func prompt(word string, number int) string {
	if number == 0 {
		return word + " [ ]:"
	}
	return fmt.Sprintf("%s [%d]:", word, number)
}

func (p *pages) output(o notebook.Output) bookOutput {
	var shown bookOutput
	switch {
	case o.Error:
		shown.Class, shown.Text = "error", coloured(p.spend(o.Text))
	case o.Stream != "":
		shown.Text = coloured(p.spend(finalLines(o.Text)))
		if o.Stream == "stderr" {
			shown.Class = "stderr"
		}
	default:
		p.bundle(&shown, o.Bundle)
	}
	if o.Number > 0 {
		shown.Prompt = prompt("Out", o.Number)
	}
	if o.Cut {
		shown.Notes = append(shown.Notes, "Only its beginning is shown.")
	}
	return shown
}

// bundle shows a result as the first of its types that can be shown, in the order in which notebooks prefer them. Formulas
// need a script to be set, so that an image of one comes first.
func (p *pages) bundle(shown *bookOutput, b notebook.Bundle) {
	for _, media := range []string{"text/html", "text/markdown", "image/svg+xml", "image/png", "image/jpeg", "image/gif", "text/latex", "text/plain"} {
		text, given := b.Types[media]
		if !given {
			continue
		}
		switch {
		case media == "text/html":
			shown.Markup = p.html(text)
		case media == "text/markdown":
			shown.Markup = p.markdown(text)
		case strings.HasPrefix(media, "image/"):
			p.show(shown, media, text)
		default:
			shown.Text = coloured(p.spend(text))
		}
		if shown.Markup != "" || shown.Text != nil || shown.Figure != nil {
			break
		}
		if media == "text/html" {
			shown.Notes = append(shown.Notes, "Its HTML is not shown: there is nothing in it but what executes, loads or styles.")
		}
	}
	if shown.Markup == "" && shown.Text == nil && shown.Figure == nil && len(b.Others) > 0 {
		shown.Notes = append(shown.Notes, "Not shown: an output of the type "+strings.Join(b.Others, ", ")+".")
	}
}

// show shows an image, or says why not.
func (p *pages) show(shown *bookOutput, media, text string) {
	content := []byte(spaced(text))
	if media != "image/svg+xml" {
		content, _ = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), "")) // show refuses what is no image
	}
	f := p.figure(content)
	if f.Why != "" {
		shown.Notes = append(shown.Notes, "An image. "+f.Why)
		return
	}
	shown.Figure = &f
}

// spaced is an SVG with its namespace: a file needs it to be an SVG, and within HTML, as in a notebook, it may be missing.
func spaced(text string) string {
	before, after, found := strings.Cut(text, "<svg")
	if root, _, _ := strings.Cut(after, ">"); !found || strings.Contains(root, "xmlns=") {
		return text
	}
	return before + `<svg xmlns="http://www.w3.org/2000/svg"` + after
}

func (p *pages) figure(content []byte) figure {
	f := figure{Path: fmt.Sprintf("%d of %s", notebookImages-p.images+1, p.book.Path)}
	switch {
	case p.images == 0:
		f.Why = fmt.Sprintf("Not shown: a page has %d of them in notebooks.", notebookImages)
	case len(content) > figureMax:
		f.Why = fmt.Sprintf("Not shown: it has more than %s.", format.Size(figureMax))
	default:
		p.images--
		p.gallery.embed(&f, content)
	}
	return f
}

// spend returns the text, or the part of it for which there is room, and uses up that room.
func (p *pages) spend(text string) string {
	if len(text) > p.left {
		text = strings.ToValidUTF8(text[:max(p.left, 0)], "")
		p.left = 0
	}
	p.left -= len(text)
	return text
}

func (p *pages) markdown(text string) template.HTML {
	return p.written(p.markup.Markdown(text))
}

func (p *pages) html(text string) template.HTML { return p.written(p.markup.HTML(text)) }

func (p *pages) written(text string) template.HTML {
	p.left -= len(text) - p.inText
	p.inText = 0
	return template.HTML(text) //nolint:gosec // markup has written it
}

// text is one as HTML, with marks.
func (p *pages) text(text string) string {
	var b strings.Builder
	for _, piece := range pieces(text, true) {
		if piece.Mark {
			b.WriteString("<i>" + html.EscapeString(piece.Text) + "</i>")
		} else {
			b.WriteString(html.EscapeString(piece.Text))
		}
	}
	return b.String()
}

// image is an image that a text refers to: an attachment of the cell, or one in the address itself. Nothing is loaded.
func (p *pages) image(source, alt string) string {
	content, found := p.attached(source)
	if !found {
		what := strings.TrimSpace(alt + " " + format.Cut(source, 200))
		return `<span class="note">[` + p.text("An image that is not in the notebook: "+what) + `]</span>`
	}
	f := p.figure(content)
	if f.Why != "" {
		return `<span class="note">[` + p.text("An image. "+f.Why) + `]</span>`
	}
	size := ` class="drawing"`
	if f.Width > 0 {
		size = fmt.Sprintf(` width="%d" height="%d"`, f.Width, f.Height)
	}
	p.inText += len(f.Source)
	return fmt.Sprintf(`<img src="%s" alt="%s"%s loading="lazy" decoding="async">`, html.EscapeString(string(f.Source)), html.EscapeString(visible(format.Cut(alternative(alt, f), 200))), size)
}

// alternative is the text in the place of an image.
func alternative(alt string, f figure) string {
	if strings.TrimSpace(alt) != "" {
		return alt
	}
	return f.Alt()
}

// attached is the content of an image in the notebook.
func (p *pages) attached(source string) ([]byte, bool) {
	encoded := ""
	if name, attachment := strings.CutPrefix(source, "attachment:"); attachment {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		for media, text := range p.now.Images[name].Types {
			if media == "image/svg+xml" {
				return []byte(text), true
			}
			if strings.HasPrefix(media, "image/") {
				encoded = text
			}
		}
	} else if media, after, found := strings.Cut(source, ";base64,"); found && strings.HasPrefix(media, "data:image/") {
		encoded = after
	}
	content, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(encoded), ""))
	return content, err == nil && encoded != ""
}

// region names the next table.
func (p *pages) region() string {
	p.regions++
	return fmt.Sprintf("Table %d of %s", p.regions, visible(p.book.Path))
}
