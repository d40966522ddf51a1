package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// errNoRecords is for JSON that is no list of objects.
var errNoRecords = errors.New("it is no list of records")

// newRecords reads the start of a list of objects in JSON, or of JSON lines, as a table. ok is false for other JSON.
func newRecords(o result.Output, blobs Blobs) (t table, ok bool) {
	content, err := start(blobs, o.SHA256, tableRead)
	if err != nil {
		return t, false // the text of it says why
	}
	r := recordReader{lines: o.MediaType == "application/x-ndjson"}
	err = r.read(json.NewDecoder(bytes.NewReader(content)))
	cut := int64(len(content)) < o.Size
	if r.total == 0 || err != nil && (!cut || errors.Is(err, errNoRecords)) {
		return t, false
	}
	t = table{Path: o.Path, Size: format.Size(o.Size), header: true}
	t.fill(r.rows())
	t.tell(r.columns, r.total+1, cut)
	return t, true
}

// recordReader takes the first records. A column is a name, in the order in which they come.
type recordReader struct {
	lines   bool
	names   []string
	records [][]string
	columns int // the most that a record has, or that are shown
	total   int
}

func (r *recordReader) read(d *json.Decoder) error {
	d.UseNumber()
	if !r.lines {
		if token, err := d.Token(); err != nil || token != json.Delim('[') {
			return errNoRecords
		}
	}
	for r.lines || d.More() {
		if r.lines && !d.More() {
			return nil
		}
		if err := r.record(d); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func (r *recordReader) record(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if token != json.Delim('{') {
		return errNoRecords
	}
	values := make([]string, len(r.names))
	fields := 0
	for ; d.More(); fields++ {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if len(r.records) < tableRows {
			values = r.value(values, name, value)
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	r.columns = max(r.columns, fields, len(r.names))
	if r.total++; len(r.records) < tableRows {
		r.records = append(r.records, values)
	}
	return nil
}

// value puts the value of a name in its column, if it is one of the first.
func (r *recordReader) value(values []string, token json.Token, value json.RawMessage) []string {
	name, _ := token.(string)
	name = format.Cut(name, cellMax)
	at := slices.Index(r.names, name)
	if at < 0 {
		if len(r.names) == tableColumns {
			return values
		}
		at = len(r.names)
		r.names = append(r.names, name)
	}
	for len(values) <= at {
		values = append(values, "")
	}
	values[at] = plainJSON(value)
	return values
}

// plainJSON is the text of a string, nothing for null, and JSON for all else.
func plainJSON(value json.RawMessage) string {
	var text *string
	if json.Unmarshal(value, &text) == nil {
		if text == nil {
			return ""
		}
		return format.Cut(*text, cellMax)
	}
	var short bytes.Buffer
	if json.Compact(&short, value) != nil {
		return ""
	}
	return strings.Clone(format.Cut(short.String(), cellMax))
}

// rows are a header and the records, all of one length.
func (r *recordReader) rows() [][]string {
	rows := append([][]string{r.names}, r.records...)
	for i, row := range rows {
		for len(row) < len(r.names) {
			row = append(row, "")
		}
		rows[i] = row
	}
	return rows
}
