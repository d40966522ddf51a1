package docs

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// TestEachEndHasAdvice: docs/failed.md says for each state and reason what to do, also for reasons that only earlier programs gave.
func TestEachEndHasAdvice(t *testing.T) {
	var schema struct {
		Properties struct {
			Reason struct{ Enum []outcome.Reason }
		}
	}
	raw, err := os.ReadFile("../../docs/schema/result.json")
	if err == nil {
		err = json.Unmarshal(raw, &schema)
	}
	if err != nil || len(schema.Properties.Reason.Enum) < len(outcome.Reasons()) {
		t.Fatalf("%v, %q", err, schema)
	}
	// The advice for a reason stands below its state.
	text := read(t, "../../docs/failed.md")
	have := anchors(text)
	for _, state := range []outcome.State{outcome.Failed, outcome.Canceled, outcome.Error, outcome.Lost} {
		_, section, found := strings.Cut(text, "\n## `"+string(state)+"`\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for _, reason := range outcome.ReasonsOf(state) {
			if !found || !slices.Contains(anchors(section), string(reason)) {
				t.Errorf("docs/failed.md does not say what to do about %s, %s", state, reason)
			}
		}
	}
	for _, reason := range schema.Properties.Reason.Enum {
		if reason != "" && !slices.Contains(have, string(reason)) {
			t.Errorf("docs/failed.md does not say what to do about %s", reason)
		}
	}
}
