package mcp

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/scidex-ai/scidex-oci/outputs/result"
)

const (
	entriesListed = 100 // by default
	mostEntries   = 500
)

// outputsInput chooses outputs.
type outputsInput struct {
	Run   string `json:"run" jsonschema:"ID, ID@ATTEMPT or @last"`
	From  int    `json:"from,omitempty" jsonschema:"how many to leave out"`
	Limit int    `json:"limit,omitempty" jsonschema:"1 to 500 (default 100)"`
}

// outputsOutput are outputs and rejected entries.
type outputsOutput struct {
	State    string            `json:"state,omitempty" jsonschema:"of a run that has not ended: its outputs are listed when it has"`
	Outputs  []output          `json:"outputs"`
	Rejected []result.Rejected `json:"rejected" jsonschema:"what was left in /work and is no output"`
	Next     int               `json:"next,omitempty" jsonschema:"the from of the next page; there is none after the last"`
}

// listOutputs lists outputs of a run.
func (t *tools) listOutputs(ctx context.Context, _ *mcp.CallToolRequest, in outputsInput) (*mcp.CallToolResult, outputsOutput, error) {
	limit := entriesListed
	if in.Limit != 0 {
		limit = in.Limit
	}
	out := outputsOutput{Outputs: []output{}, Rejected: []result.Rejected{}}
	if in.From < 0 || limit < 1 || limit > mostEntries {
		return nil, out, fmt.Errorf("from %d, limit %d: give a number from 0 on, and one from 1 to %d", in.From, limit, mostEntries)
	}
	run, err := t.find(ctx, in.Run)
	if err != nil {
		return nil, out, err
	}
	entries, next, err := t.Engine.Outputs(ctx, run, in.From, limit)
	if err != nil {
		return nil, out, err
	}
	out.Next = next
	if !run.State.Final() {
		out.State = string(run.State)
	}
	for _, e := range entries {
		if e.Rejected != "" {
			out.Rejected = append(out.Rejected, result.NewRejected(e))
		} else {
			out.Outputs = append(out.Outputs, newOutput(run.String(), result.NewOutput(e)))
		}
	}
	return nil, out, nil
}
