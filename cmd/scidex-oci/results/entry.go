package results

import (
	"context"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/internal/suggest"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
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

// NearAmong is how many outputs of a run are looked at for a name that is not among them.
const NearAmong = 10000

// NearOutput is the end of a sentence that says that a run has no output of a name, with the name that was most likely meant; "" if none
// is near.
func NearOutput(ctx context.Context, cat catalog.Catalog, key catalog.Key, name string) (string, error) {
	var names []string
	err := cat.Outputs(ctx, key, func(e outputs.Entry) bool {
		names = append(names, screen.Escape(string(e.Path)))
		return len(names) < NearAmong
	})
	return suggest.DidYouMean(name, names, ""), err
}
