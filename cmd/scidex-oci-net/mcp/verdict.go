package mcp

import (
	"net/url"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// mostListed bounds the outputs, and what was rejected, of an answer that has more besides.
const mostListed = 50

// outputScheme begins the URI of an output.
const outputScheme = "scidex-oci://runs/"

// verdict is how a run ended, or its state until then. It names no path of the host.
type verdict struct {
	ID            string               `json:"id"`
	Attempt       int                  `json:"attempt"`
	State         string               `json:"state" jsonschema:"complete, failed, canceled, error, lost, running or queued"`
	Reason        string               `json:"reason,omitempty" jsonschema:"of the end, such as exit, timeout or out_of_memory"`
	Message       string               `json:"message,omitempty"`
	ExitCode      *int                 `json:"exit_code,omitempty" jsonschema:"of a run that has ended"`
	Hints         []result.Hint        `json:"hints" jsonschema:"what to do about the end"`
	Warnings      []string             `json:"warnings,omitempty"`
	Limits        []result.Enforcement `json:"limits,omitempty" jsonschema:"what was asked for, what held, and by what"`
	Usage         result.Usage         `json:"usage"`
	Outputs       []output             `json:"outputs" jsonschema:"the first ones; list_outputs has all"`
	OutputsTotal  int64                `json:"outputs_total"`
	Rejected      []result.Rejected    `json:"rejected,omitempty" jsonschema:"the first of what was left in /work and is no output"`
	RejectedTotal int64                `json:"rejected_total"`
}

// output is an output with its address.
type output struct {
	Path      string `json:"path"`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	MediaType string `json:"media_type"`
	URI       string `json:"uri" jsonschema:"of the resource with its exact bytes"`
}

func newOutput(id string, o result.Output) output {
	return output{Path: o.Path, Size: o.Size, SHA256: o.SHA256, MediaType: o.MediaType, URI: outputURI(id, o)}
}

// outputURI is the address of an output of a run, "" if its path is not UTF-8.
func outputURI(id string, o result.Output) string {
	if o.PathB64 != "" {
		return ""
	}
	names := strings.Split(o.Path, "/")
	for i, name := range names {
		names[i] = url.PathEscape(name)
	}
	return outputScheme + url.PathEscape(id) + "/outputs/" + o.SHA256 + "/" + strings.Join(names, "/")
}

func (t *tools) verdict(r result.Result) verdict {
	v := verdict{
		ID: r.ID, Attempt: r.Attempt, State: string(r.State), Reason: string(r.Reason), Message: said(r.Reason, r.Message), ExitCode: exitCode(r.State, r.ExitCode),
		Hints: t.hints(r), Warnings: warnings(r), Limits: r.Enforced, Usage: r.Usage, Outputs: []output{},
		OutputsTotal: r.OutputsTotal, Rejected: r.Rejected[:min(len(r.Rejected), mostListed)], RejectedTotal: r.RejectedTotal,
	}
	for _, o := range r.Outputs[:min(len(r.Outputs), mostListed)] {
		v.Outputs = append(v.Outputs, newOutput(r.Key().String(), o))
	}
	return v
}

// warnings are those of a run without paths of the host.
func warnings(r result.Result) (all []string) {
	for _, w := range r.Warnings {
		if strings.HasPrefix(w, result.ShownBare) {
			w = "what the operator shares is " + strings.TrimSuffix(result.ShownBare, ": ")
		}
		all = append(all, w)
	}
	return all
}
