package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
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

// LastRow reads the last row of a table of at most 1 MiB, which is a run's result where it has a row for each step. Of JSON
// it is the last object.
func LastRow(o result.Output, blobs Blobs) (Row, error) {
	if o.Size > tableRead {
		return Row{}, fmt.Errorf("%s has more than %s", path.Base(o.Path), format.Size(tableRead))
	}
	content, err := whole(blobs, o.SHA256, tableRead)
	if err != nil {
		return Row{}, err
	}
	if comma := separator(o.MediaType); comma != 0 {
		return lastRecord(content, comma)
	}
	return lastObject(content)
}

func lastRecord(content []byte, comma rune) (row Row, err error) {
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))))
	reader.Comma = comma
	if row.Names, err = reader.Read(); err != nil {
		return row, err
	}
	reader.ReuseRecord = true
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return row, err
		}
		row.Values = record
	}
	if row.Values == nil {
		return row, errors.New("it has no rows")
	}
	n := min(len(row.Names), lastColumns)
	row.Names, row.Values = clipAll(row.Names[:n]), clipAll(row.Values[:n])
	return row, nil
}

func lastObject(content []byte) (row Row, err error) {
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	if bytes.HasPrefix(bytes.TrimLeft(content, " \t\r\n"), []byte("[")) {
		_, err = d.Token()
	}
	found := false
	for err == nil && d.More() {
		row, err = object(d)
		found = true
	}
	if err == nil && !found {
		err = errors.New("it has no rows")
	}
	return row, err
}

func object(d *json.Decoder) (row Row, err error) {
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return row, errors.Join(errNoRecords, err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return row, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return row, err
		}
		if text, ok := name.(string); ok && len(row.Names) < lastColumns {
			row.Names, row.Values = append(row.Names, clip(text, cellMax)), append(row.Values, plainJSON(value))
		}
	}
	_, err = d.Token()
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
