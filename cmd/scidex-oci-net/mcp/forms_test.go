package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestForms: what models call arguments of other tools becomes what these call them, or is refused by a sentence with the right names.
func TestForms(t *testing.T) {
	types := map[string]reflect.Type{"get_run": reflect.TypeFor[runName](), "run_code": reflect.TypeFor[runInput](), "read_output": reflect.TypeFor[readInput](), "get_environment": reflect.TypeFor[environmentInput]()}
	for _, test := range []struct{ tool, given, want string }{
		{"get_run", `{"id":"x"}`, `{"run":"x"}`},
		{"get_run", `{"run":"x"}`, `{"run":"x"}`},
		{"get_run", `{"run":7}`, `{"run":"7"}`},
		{"run_code", `{"files":{"b.txt":"2","a.txt":{"base64":"AA=="}}}`, `{"files":[{"base64":"AA==","name":"a.txt"},{"name":"b.txt","text":"2"}]}`},
		{"run_code", `{"files":[{"path":"a","content":"1"},{"name":"b","text":"2"}]}`, `{"files":[{"name":"a","text":"1"},{"name":"b","text":"2"}]}`},
		{"run_code", `{"files":{"path":"a","content":"1"}}`, `{"files":[{"name":"a","text":"1"}]}`},
		{"run_code", `{"files":{"name":"1","other":"2"}}`, `{"files":[{"name":"name","text":"1"},{"name":"other","text":"2"}]}`},
		{"run_code", `{"files":null,"args":null,"limits":{"memory":null}}`, `{"limits":{}}`},
		{"run_code", `{"code":12345678901234567890,"timeout":60,"labels":{"seed":1},"args":[2.50]}`, `{"args":["2.50"],"code":"12345678901234567890","labels":{"seed":"1"},"timeout":"60"}`},
		{"run_code", `{"limits":{"memory":512,"cpus":"0.5","pids":7}}`, `{"limits":{"cpus":0.5,"memory":"512","pids":7}}`},
		{"get_environment", `{"files":"a"}`, `{"files":"a"}`},
		{"read_output", `{"uri":"scidex-oci://runs/x@1/outputs/` + strings.Repeat("0", 64) + `/a%20b/c.csv","rows":2}`, `{"path":"a b/c.csv","rows":2,"run":"x@1"}`},
		{"run_code", `{"wait":false}`, `{"wait":0}`},
		{"run_code", `{"wait":true}`, `{}`},
		{"run_code", `{"wait":"2.5"}`, `{"wait":2.5}`},
		{"run_code", ``, `{}`},
		{"run_code", `null`, `{}`},
	} {
		if got, err := plainArguments(test.tool, types[test.tool], json.RawMessage(test.given)); err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v, want %s", test.given, got, err, test.want)
		}
	}
	for _, test := range []struct{ tool, given, want string }{
		{"run_code", `{"id":"x"}`, `run_code has no argument "id"; it has code, language, `},
		{"run_code", `{"bash":"ls"}`, `run_code has no argument "bash"; it has code, language, `},
		{"run_code", `{"timeot":"9s"}`, `run_code has no argument "timeot"; did you mean "timeout"?`},
		{"run_code", `{"memory":"1GiB"}`, `run_code has no argument "memory"; did you mean "limits.memory"?`},
		{"run_code", `{"memroy":"1GiB"}`, `run_code has no argument "memroy"; did you mean "limits.memory"?`},
		{"run_code", `{"limits":{"memroy":"1GiB"}}`, `run_code has no argument "limits.memroy"; did you mean "limits.memory"?`},
		{"run_code", `{"limits":{"timeout":"9s"}}`, `run_code has no argument "limits.timeout"; did you mean "timeout"?`},
		{"run_code", `{"limits":{"gpus":1}}`, `run_code has no argument "limits.gpus"; did you mean "limits.cpus"?`},
		{"run_code", `{"limits":{"disk":1}}`, `run_code has no argument "limits.disk"; it has memory, cpus, `},
		{"run_code", `{"files":[{"name":"a","txt":"b"}]}`, `run_code has no argument "files.txt"; did you mean "files.text"?`},
		{"run_code", `{"a\u001bb":1}`, `run_code has no argument "a\x1bb"; it has `},
		{"run_code", `{"files":"a"}`, `files: give a list such as [{"name"`},
		{"run_code", `{"files":["a"]}`, `files: give a list such as [{"name"`},
		{"run_code", `{"files":[null]}`, `run_code needs the argument "files.name"`},
		{"run_code", `{"files":{"a":[]}}`, `files.text: give a string, not a list`},
		{"run_code", `{"code":["1"]}`, `code: give a string, not a list`},
		{"run_code", `{"outputs":"a.csv"}`, `outputs: give a list, not a string, such as ["a.csv"]`},
		{"run_code", `{"command":"ls -l /data"}`, `command: give a list, not a string, such as ["ls","-l","/data"]`},
		{"run_code", `{"command":7}`, `command: give a list, not a number`},
		{"read_output", `{"uri":"file:///etc/passwd"}`, `read_output has no argument "uri"; it has run, path`},
		{"run_code", `{"labels":["a"]}`, `labels: give an object, not a list`},
		{"run_code", `{"limits":"1GiB"}`, `limits: give an object, not a string`},
		{"run_code", `{"limits":{"cpus":"many"}}`, `limits.cpus: give a number, not a string`},
		{"get_run", `{"run":"x","wait":false}`, `get_run has no argument "wait"; it has run`},
		{"read_output", `{"run":"x"}`, `read_output needs the argument "path"`},
		{"get_run", `{"id":"x","run":"y"}`, `get_run has no argument "id"; it has run`},
		{"get_run", `{}`, `get_run needs the argument "run"`},
		{"get_run", `[1]`, `arguments: give an object, not a list`},
	} {
		if got, err := plainArguments(test.tool, types[test.tool], json.RawMessage(test.given)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %s, %v, want %s", test.given, got, err, test.want)
		}
	}
}

// TestCanceled: the answer of a canceled call says that, and not what failed because of it.
func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	failing := (&tools{}).forgive(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		cancel()
		return nil, errors.New(`find "x": context canceled`)
	})
	got, err := failing(ctx, "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "wait_run"}})
	if err != nil || !strings.HasPrefix(got.(*mcp.CallToolResult).Content[0].(*mcp.TextContent).Text, "canceled: its client") {
		t.Errorf("%+v, %v", got, err)
	}
}
