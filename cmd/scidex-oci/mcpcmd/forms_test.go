package mcpcmd

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestForms: what models call arguments of other tools becomes what these call them, or is refused by a sentence with the right names.
func TestForms(t *testing.T) {
	names := map[string]arguments{"run_code": {"code", "files"}, "get_run": {"run"}}
	for _, test := range []struct{ tool, given, want string }{
		{"get_run", `{"id":"x"}`, `{"run":"x"}`},
		{"get_run", `{"run":"x"}`, `{"run":"x"}`},
		{"run_code", `{"files":{"b.txt":"2","a.txt":{"base64":"AA=="}}}`, `{"files":[{"base64":"AA==","name":"a.txt"},{"name":"b.txt","text":"2"}]}`},
		{"run_code", `{"files":[{"path":"a","content":"1"},{"name":"b","text":"2"}]}`, `{"files":[{"name":"a","text":"1"},{"name":"b","text":"2"}]}`},
		{"run_code", `{"files":null}`, `{"files":null}`},
		{"run_code", `{"files":{"path":"a","content":"1"}}`, `{"files":[{"name":"a","text":"1"}]}`},
		{"run_code", `{"files":{"name":"1","other":"2"}}`, `{"files":[{"name":"name","text":"1"},{"name":"other","text":"2"}]}`},
		{"run_code", `{"files":{"a":null,"b":[]}}`, `{"files":[{"name":"a","text":null},{"name":"b","text":[]}]}`},
		{"run_code", `{"files":[null]}`, `{"files":[null]}`},
		{"run_code", `{"code":12345678901234567890}`, `{"code":12345678901234567890}`},
		{"unknown", `{"id":"x"}`, `{"id":"x"}`},
		{"get_run", `[1]`, `[1]`},
		{"get_run", `null`, `null`},
		{"get_run", ``, ``},
	} {
		if got, err := names[test.tool].plain(test.tool, json.RawMessage(test.given)); err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v, want %s", test.given, got, err, test.want)
		}
	}
	for given, want := range map[string]string{
		`{"id":"x","run":"y"}`: `run_code has no argument "id"; it has code, files`,
		`{"bash":"ls"}`:        `run_code has no argument "bash"; it has code, files`,
		`{"files":"a"}`:        `files: give a list such as [{"name"`,
		`{"files":["a"]}`:      `files: give a list such as [{"name"`,
	} {
		if got, err := names["run_code"].plain("run_code", json.RawMessage(given)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %s, %v, want %s", given, got, err, want)
		}
	}
	if got, err := names["get_run"].plain("get_run", json.RawMessage(`{"id":"x","run":"y"}`)); err == nil {
		t.Errorf("two ids: %s", got)
	}
}
