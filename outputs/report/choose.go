package report

import (
	"path"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// chooser shows outputs, the first of each kind.
type chooser struct {
	results
	blobs    Blobs
	gallery  gallery
	books    *bookReader
	pictures [][]result.Output // files of one figure
	left     int64             // outputs that are not shown
}

func (c *chooser) take(o result.Output) {
	comma := separator(o.MediaType)
	switch {
	case o.Size == 0: // such as the figure of a run that failed while it drew; it is in the list of files
	case isNotebook(o):
		if c.keep(len(c.Books) < notebooksShown) {
			c.Books = append(c.Books, c.books.book(o))
		}
	case strings.HasPrefix(o.MediaType, "image/"):
		c.picture(o)
	case comma != 0:
		if c.keep(len(c.Tables) < tablesShown) {
			c.Tables = append(c.Tables, newTable(o, comma, c.blobs))
		}
	case textual(o.MediaType):
		c.text(o)
	}
}

// keep counts what is not kept.
func (c *chooser) keep(room bool) bool {
	if !room {
		c.left++
	}
	return room
}

// text is shown as a table if it has records.
func (c *chooser) text(o result.Output) {
	if len(c.Tables) < tablesShown && recorded(o.MediaType) {
		if t, ok := newRecords(o, c.blobs); ok {
			c.Tables = append(c.Tables, t)
			return
		}
	}
	if c.keep(len(c.Documents) < documentsShown) {
		c.Documents = append(c.Documents, newDocument(o, c.blobs))
	}
}

// picture collects the files of one figure: those whose paths differ only in their extensions.
func (c *chooser) picture(o result.Output) {
	stem := strings.TrimSuffix(o.Path, path.Ext(o.Path))
	same := slices.IndexFunc(c.pictures, func(files []result.Output) bool {
		return strings.TrimSuffix(files[0].Path, path.Ext(files[0].Path)) == stem
	})
	switch {
	case same >= 0:
		c.pictures[same] = append(c.pictures[same], o)
	case c.keep(len(c.pictures) < figuresShown):
		c.pictures = append(c.pictures, []result.Output{o})
	}
}

func (c *chooser) images() {
	for _, files := range c.pictures {
		c.Figures = append(c.Figures, c.gallery.of(files))
	}
}

// separator is the column separator of a table type, 0 for others.
func separator(media string) rune {
	switch media {
	case "text/csv":
		return ','
	case "text/tab-separated-values":
		return '\t'
	}
	return 0
}

// textual reports whether a type is human-readable text. Types that are text and more, such as HTML, are shown as text.
func textual(media string) bool {
	switch media {
	case "application/json", "application/yaml", "application/toml", "application/x-ndjson", "application/xml":
		return true
	}
	return strings.HasPrefix(media, "text/")
}

// recorded reports whether a type may have records.
func recorded(media string) bool {
	return media == "application/json" || media == "application/x-ndjson"
}
