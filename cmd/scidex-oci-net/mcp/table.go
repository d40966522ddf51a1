package mcp

import (
	"bytes"
	"encoding/csv"
)

// separators are those of tables, by media type.
var separators = map[string]rune{"text/csv": ',', "text/tab-separated-values": '\t'}

// rows are the first rows of a part of a table, as they are written. The last row of a part that does not end the table is left
// out, because it may go on, unless it is the only one.
func rows(piece []byte, comma rune, most int, last bool) []byte {
	r := csv.NewReader(bytes.NewReader(piece))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord = comma, true, -1, true
	end := int64(0)
	for range most {
		if _, err := r.Read(); err != nil {
			break
		}
		if r.InputOffset() == int64(len(piece)) && !last && end > 0 {
			break
		}
		end = r.InputOffset()
	}
	return piece[:end]
}
