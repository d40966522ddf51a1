package mcp

import (
	"bytes"
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// Kinds of outputs.
const (
	kindText   = "text"
	kindTable  = "table"
	kindImage  = "image"
	kindBinary = "binary"
)

const (
	rowsRead = 50 // of a table, by default
	mostRows = 1000
	// verified is the size up to which an output is read to its end, where its digest is compared.
	verified = 64 << 20
)

// readInput chooses a part of an output.
type readInput struct {
	Run    string `json:"run" jsonschema:"ID, ID@ATTEMPT or @last"`
	Path   string `json:"path" jsonschema:"as list_outputs shows it"`
	Offset int64  `json:"offset,omitempty" jsonschema:"of the first byte; a table begins with the next row"`
	Length int    `json:"length,omitempty" jsonschema:"bytes, at most 65536 (default)"`
	Rows   int    `json:"rows,omitempty" jsonschema:"of a CSV or TSV table, 1 to 1000 (default 50)"`
}

// readOutput is a part of an output.
type readOutput struct {
	output
	Kind   string `json:"kind" jsonschema:"text, table, image (which comes as one), or binary (which only the resource has)"`
	Text   string `json:"text,omitempty"`
	Offset int64  `json:"offset"`
	Next   int64  `json:"next_offset,omitempty" jsonschema:"where to read on; there is none at the end"`
}

// check fills in what is not given.
func (in *readInput) check() error {
	if in.Length == 0 {
		in.Length = mostOfText
	}
	if in.Rows == 0 {
		in.Rows = rowsRead
	}
	if in.Offset < 0 || in.Length < 1 || in.Length > mostOfText || in.Rows < 1 || in.Rows > mostRows {
		return fmt.Errorf("offset %d, length %d, rows %d: give a number of bytes from 0 on, one from 1 to %d, and a number of rows from 1 to %d", in.Offset, in.Length, in.Rows, mostOfText, mostRows)
	}
	return nil
}

// readOutput answers with a part of an output.
func (t *tools) readOutput(ctx context.Context, _ *mcp.CallToolRequest, in readInput) (*mcp.CallToolResult, readOutput, error) {
	if err := in.check(); err != nil {
		return nil, readOutput{}, err
	}
	run, err := t.find(ctx, in.Run)
	if err != nil {
		return nil, readOutput{}, err
	}
	entry, err := t.Engine.Output(ctx, run, in.Path)
	if err != nil {
		return nil, readOutput{}, fmt.Errorf("%w; list_outputs lists them", err)
	}
	out := readOutput{output: newOutput(run.String(), result.NewOutput(entry)), Offset: in.Offset, Kind: kindImage}
	if picture, err := t.figure(ctx, entry); picture != nil || err != nil {
		return imageAnswer(out, picture, err)
	}
	before := int64(0) // bytes that are read to see where a row begins
	if separators[out.MediaType] != 0 {
		before = min(in.Offset, int64(in.Length))
	}
	piece, err := t.piece(ctx, entry, in.Offset-before, int64(in.Length)+before)
	if err != nil {
		return nil, out, fmt.Errorf("output %s: %w", shown(in.Path), err)
	}
	if before > 0 {
		in.Offset, piece = nextRow(in.Offset, in.Length, before, piece, out.Size)
		out.Offset = in.Offset
	}
	out.fill(piece, in)
	return nil, out, nil
}

// nextRow leaves out the rest of a row that began before the offset. piece has some bytes before the offset too: those of a whole call, if
// there are so many. If they have no end of a row, the call before was answered with a part of this row, and it goes on.
func nextRow(offset int64, length int, before int64, piece []byte, size int64) (int64, []byte) {
	if int64(len(piece)) < before { // the offset is behind the end
		return max(offset, size), nil
	}
	head, rest := piece[:before], piece[before:]
	if head[before-1] == '\n' || before == int64(length) && !bytes.Contains(head, []byte("\n")) {
		return offset, rest
	}
	end := bytes.IndexByte(rest, '\n')
	switch {
	case end >= 0:
		return offset + int64(end) + 1, rest[end+1:]
	case offset+int64(len(rest)) >= size: // the rest of the last row
		return max(offset, size), nil
	}
	return offset, rest // a part of one long row
}

// imageAnswer has a figure and what is known of it.
func imageAnswer(out readOutput, picture mcp.Content, err error) (*mcp.CallToolResult, readOutput, error) {
	if err != nil {
		return nil, out, err
	}
	answer, err := structured(out)
	if err == nil {
		answer.Content = append(answer.Content, picture)
	}
	return answer, out, err
}

// fill sets the text of a piece, if it is text.
func (out *readOutput) fill(piece []byte, in readInput) {
	if bytes.IndexByte(piece, 0) >= 0 {
		out.Kind = kindBinary
		return
	}
	out.Kind = kindText
	last := in.Offset+int64(len(piece)) >= out.Size
	if comma, ok := separators[out.MediaType]; ok {
		out.Kind = kindTable
		piece = rows(piece, comma, in.Rows, last)
	} else if !last {
		piece = whole(piece)
	}
	out.Text = format.EscapeText(string(piece))
	if next := in.Offset + int64(len(piece)); next < out.Size {
		out.Next = next
	}
}

// piece reads a part of an output. One of ordinary size is read to its end, so that its digest is compared.
func (t *tools) piece(ctx context.Context, e outputs.Entry, offset, length int64) ([]byte, error) {
	r := t.Engine.NewReader(ctx)
	defer r.Close()
	return r.Read(ctx, e, offset, length, e.Size <= verified)
}
