package catalogtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// testAction: runs are found by the action_id of their report, newest first; a report without one, or with an invalid one,
// is committed all the same.
func testAction(t *testing.T, d Driver) {
	c := fresh(t, d)
	action := digest("an action")
	for i, report := range []string{
		fmt.Sprintf(`{"action_id":%q}`, action), fmt.Sprintf(`{"x":1,"action_id":%q}`, action), fmt.Sprintf(`{"action_id":%q}`, digest("another")),
		`{"action_id":null}`, `{}`, `{"action_id":7}`, `{"action_id":{"a":[1]}}`, `[]`, `null`, fmt.Sprintf(`{"action_id":%q}`, strings.Repeat("f", 10_000)),
		fmt.Sprintf(`{"\u0000":"\u0000","action_id":%q}`, digest("odd")),
	} {
		using(t, c, fmt.Sprintf("run-%d", i), `{}`, report, "exit", func(r *catalog.Run) {
			r.CreatedAt = r.CreatedAt.Add(time.Duration(i) * time.Minute)
		})
	}
	create(t, c, intent("running", 1))
	find := func(filter catalog.Filter) (ids []string) {
		t.Helper()
		runs, err := c.List(t.Context(), filter)
		must(t, err)
		for _, run := range runs {
			ids = append(ids, run.ID)
		}
		return ids
	}
	for want, filter := range map[string]catalog.Filter{
		"[run-1 run-0]": {ActionID: action},
		"[run-1]":       {ActionID: action, Limit: 1},
		"[]":            {ActionID: action, States: []outcome.State{outcome.Complete}}, // these have failed
		"[run-10]":      {ActionID: digest("odd")},
		"[run-2]":       {ActionID: digest("another"), States: []outcome.State{outcome.Failed, outcome.Complete}},
	} {
		if got := fmt.Sprint(find(filter)); got != want {
			t.Errorf("%+v: %s, want %s", filter, got, want)
		}
	}
	if got := find(catalog.Filter{ActionID: digest("no action")}); got != nil {
		t.Errorf("found %v", got)
	}
	run := intent("changed", 1)
	create(t, c, run)
	run = ended(run)
	run.Report = json.RawMessage(fmt.Sprintf(`{"action_id":%q}`, digest("changed")))
	must(t, c.Commit(t.Context(), run, from()))
	if got := find(catalog.Filter{ActionID: digest("changed"), Host: run.Host}); len(got) != 1 {
		t.Errorf("found %v", got)
	}
}
