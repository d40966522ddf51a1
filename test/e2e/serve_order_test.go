package e2e

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestServeKeepsOrder: requests that are written at once are run in the order of their lines, and each finds those before it.
func TestServeKeepsOrder(t *testing.T) {
	h := newHarness(t)
	s := h.serve("--jobs=1")
	const runs = 20
	ids, lines := h.newIDs(runs), ""
	for i, id := range ids {
		for k, request := range []map[string]any{
			{"method": "submit", "params": map[string]any{"id": id, "command": flags("true")}},
			{"method": "wait", "params": map[string]any{"id": id}},
		} {
			request["jsonrpc"], request["id"] = "2.0", 2*i+k
			text, err := json.Marshal(request)
			if err != nil {
				t.Fatal(err)
			}
			lines += string(text) + "\n"
		}
	}
	s.write(lines)
	var ended []result
	for _, m := range s.all(2 * runs) {
		if m.Error != nil {
			t.Errorf("%s: %+v", m.ID, m.Error)
		} else if strings.Contains(string(m.Result), `"state"`) {
			ended = append(ended, s.result(m))
		}
	}
	slices.SortFunc(ended, func(a, b result) int { // the times are of milliseconds
		return cmp.Or(a.StartedAt.Compare(*b.StartedAt), slices.Index(ids, a.ID)-slices.Index(ids, b.ID))
	})
	for i, r := range ended {
		if r.ID != ids[i] {
			t.Errorf("run %d of %d is %s, want %s", i, len(ended), r.ID, ids[i])
		}
	}
	s.close(0)
}
