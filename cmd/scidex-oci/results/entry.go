package results

import (
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// listedOutput and listedRejected are the lines of outputs ls --json.
type listedOutput struct {
	Verdict string `json:"verdict"`
	result.Output
}

type listedRejected struct {
	Verdict string `json:"verdict"`
	result.Rejected
}

// NewEntry makes the line of an entry, for JSON.
func NewEntry(e outputs.Entry) any {
	if e.Rejected != "" {
		return listedRejected{"rejected", result.NewRejected(e)}
	}
	return listedOutput{"output", result.NewOutput(e)}
}
