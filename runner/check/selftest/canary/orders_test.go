package canary

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Only an answer exactly as it was asked for is valid.
func TestParseAnswer(t *testing.T) {
	good := `{"v":1,"id":"run","outcomes":[{"got":{"connect":"ECONNREFUSED"}},{"got":{},"count":3,"partial":true}]}`
	outcomes, err := ParseAnswer([]byte(good+"\n"), "run", 2)
	if err != nil || len(outcomes) != 2 || outcomes[0].Got["connect"] != "ECONNREFUSED" || outcomes[1].Count != 3 || !outcomes[1].Partial {
		t.Fatalf("%+v, %v", outcomes, err)
	}
	for name, line := range map[string]string{
		"nothing":           "",
		"no JSON":           "all is well\n",
		"another run's":     strings.Replace(good, `"run"`, `"other"`, 1),
		"another version's": strings.Replace(good, `"v":1`, `"v":2`, 1),
		"one less":          `{"v":1,"id":"run","outcomes":[{"got":{"connect":"ECONNREFUSED"}}]}`,
		"one more":          strings.Replace(good, `[`, `[{"got":{}},`, 1),
		"none":              `{"v":1,"id":"run"}`,
		"null":              `null`,
		"a list":            `[]`,
		"twice":             good + good,
		"something behind":  good + " x",
		"an unknown field":  strings.Replace(good, `"v":1`, `"v":1,"passed":true`, 1),
		"an unknown detail": strings.Replace(good, `"count":3`, `"counted":3`, 1),
		"a number for text": strings.Replace(good, `"ECONNREFUSED"`, `0`, 1),
		"a count too large": strings.Replace(good, `"count":3`, `"count":99999999999999999999`, 1),
		"cut short":         good[:len(good)-1],
	} {
		if outcomes, err := ParseAnswer([]byte(line), "run", 2); err == nil {
			t.Errorf("%s: %+v", name, outcomes)
		}
	}
}

func TestParseReady(t *testing.T) {
	if err := ParseReady([]byte(`{"v":1,"id":"run","ready":true}`+"\n"), "run"); err != nil {
		t.Error(err)
	}
	for _, line := range []string{
		"", "ready", `{"v":1,"id":"run","ready":false}`, `{"v":1,"id":"run"}`, `{"v":1,"id":"other","ready":true}`, `{"v":2,"id":"run","ready":true}`,
		`{"v":1,"id":"run","ready":true}{}`, `{"v":1,"id":"run","ready":true,"more":1}`,
	} {
		if ParseReady([]byte(line), "run") == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}

// A canary that is started by hand does nothing.
func TestRunOutside(t *testing.T) {
	t.Setenv("SCIDEX_ANALYSIS_ID", "run")
	var said strings.Builder
	if err := Run(&said, "run"); !errors.Is(err, os.ErrNotExist) || said.Len() > 0 {
		t.Errorf("%q, %v", said.String(), err)
	}
	path := filepath.Join(t.TempDir(), "orders")
	for name, c := range map[string]struct {
		o  Orders
		id string
	}{
		"of another run":     {Orders{V: 1, ID: "other"}, "other"},
		"for another run":    {Orders{V: 1, ID: "run"}, "other"},
		"of another version": {Orders{V: 2, ID: "run"}, "run"},
		"of no run":          {Orders{V: 1}, ""},
	} {
		text, err := json.Marshal(c.o)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readOrders(path, c.id); err == nil {
			t.Errorf("orders %s are accepted", name)
		}
	}
	if err := os.WriteFile(path, []byte(`{"v":1,"id":"run","attempts":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readOrders(path, "run"); err != nil {
		t.Error(err)
	}
}
