package report

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	rows "github.com/scidex-ai/scidex-oci/outputs/table"
)

// Row is a row of a table: values by the names of their columns, in order. The names are the analysis', as the values are.
type Row struct{ Names, Values []string }

// lastColumns are the columns of a row that are looked at.
const lastColumns = 100

// HasRows reports whether an output is a table by its type: CSV, TSV, JSON or JSON lines.
func HasRows(o result.Output) bool {
	return !isNotebook(o) && (separator(o.MediaType) != 0 || recorded(o.MediaType))
}

// IsImage reports whether an output is a figure by its type.
func IsImage(o result.Output) bool { return strings.HasPrefix(o.MediaType, "image/") }

// LastRow reads the last row of a table of at most 1 MiB: if a run writes a row for each step, that is its result. For
// JSON it is the last object. Names and values are those of scidex-oci table.
func LastRow(o result.Output, blobs Blobs) (Row, error) {
	if o.Size > tableRead {
		return Row{}, fmt.Errorf("%s has more than %s", path.Base(o.Path), format.Size(tableRead))
	}
	content, err := whole(blobs, o.SHA256, tableRead)
	if err != nil {
		return Row{}, err
	}
	return lastRow(o.Path, content)
}

func lastRow(name string, content []byte) (row Row, err error) {
	found := false
	err = rows.Read(name, bytes.NewReader(content), func(names []string, cells []rows.Cell) error {
		found = true
		row = Row{} // names and cells are valid until this returns
		for i := range min(len(names), lastColumns) {
			row.Names, row.Values = append(row.Names, strings.Clone(format.Cut(names[i], cellMax))), append(row.Values, strings.Clone(format.Cut(cells[i].Text, cellMax)))
		}
		return nil
	})
	if err == nil && !found {
		err = errors.New("it has no rows")
	}
	return row, err
}

// Figure is an image among the outputs of a run, for the template "figure".
type Figure = figure

// Gallery shows images of one page, of any runs, up to a bound on all of them.
type Gallery struct{ gallery }

// NewGallery shows images from a store.
func NewGallery(blobs Blobs) *Gallery { return &Gallery{gallery{blobs: blobs}} }

// Figure shows one image.
func (g *Gallery) Figure(o result.Output) Figure { return g.figure(o) }
