package mcp

import (
	"context"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

const (
	logRead    = 16 << 10 // bytes of each stream, by default
	mostOfText = 64 << 10 // bytes of text in an answer, of each stream
)

// logsInput chooses a part of the logs.
type logsInput struct {
	Run    string `json:"run" jsonschema:"ID, ID@ATTEMPT or @last"`
	Stream string `json:"stream,omitempty" jsonschema:"stdout or stderr (default: both)"`
	Offset *int64 `json:"offset,omitempty" jsonschema:"the first byte (default: that of the end)"`
	Length int    `json:"length,omitempty" jsonschema:"bytes of each stream, at most 65536 (default 16384)"`
}

// logsOutput are parts of the logs.
type logsOutput struct {
	State  string   `json:"state" jsonschema:"of the run"`
	Stdout *logPart `json:"stdout,omitempty"`
	Stderr *logPart `json:"stderr,omitempty"`
}

// logPart is a part of a log.
type logPart struct {
	Text   string `json:"text"`
	Offset int64  `json:"offset"`
	Next   int64  `json:"next_offset" jsonschema:"where to read on"`
	Total  int64  `json:"total" jsonschema:"bytes that there are"`
}

// getLogs answers with what a run wrote.
func (t *tools) getLogs(ctx context.Context, _ *mcp.CallToolRequest, in logsInput) (*mcp.CallToolResult, logsOutput, error) {
	windows, err := in.windows()
	if err != nil {
		return nil, logsOutput{}, err
	}
	run, err := t.find(ctx, in.Run)
	if err != nil {
		return nil, logsOutput{}, err
	}
	if run, err = t.copyLogs(ctx, run, windows); err != nil {
		return nil, logsOutput{}, err
	}
	out := logsOutput{State: string(run.State)}
	for i, to := range []**logPart{&out.Stdout, &out.Stderr} {
		if windows[i] != nil {
			part := windows[i].part()
			*to = &part
		}
	}
	return nil, out, nil
}

// windows are what is asked for of each stream; nil: nothing.
func (in logsInput) windows() (windows [2]*window, err error) {
	length := logRead
	if in.Length != 0 {
		length = in.Length
	}
	if length < 1 || length > mostOfText {
		return windows, fmt.Errorf("length %d: give a number of bytes from 1 to %d", length, mostOfText)
	}
	if in.Offset != nil && *in.Offset < 0 {
		return windows, fmt.Errorf("offset %d: give a number of bytes from 0 on, or leave it out for the end", *in.Offset)
	}
	if err := known("stream", []string{in.Stream}, []string{"stdout", "stderr", ""}); err != nil {
		return windows, fmt.Errorf("stream %s: give stdout or stderr", shown(in.Stream))
	}
	for i, name := range []string{"stdout", "stderr"} {
		if in.Stream != "" && in.Stream != name {
			continue
		}
		if windows[i] = tail(length); in.Offset != nil {
			windows[i] = at(*in.Offset, length)
		}
	}
	return windows, nil
}

// copyLogs copies what there is of the logs.
func (t *tools) copyLogs(ctx context.Context, run catalog.Run, windows [2]*window) (catalog.Run, error) {
	var to [2]io.Writer
	for i, w := range windows {
		if w != nil {
			to[i] = w
		}
	}
	return t.Engine.Logs(ctx, run, to, false)
}
