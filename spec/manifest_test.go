package spec

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// everyField is testdata/manifests/every-field.yaml as it must be read.
func everyField() Analysis {
	yes := true
	return Analysis{
		ID: "penguins-2026", Labels: map[string]string{"project": "penguins", "seed": "007"},
		Script: "penguins.py", Args: []string{"--bins", "1e3", "yes"},
		Env: map[string]string{"LEVEL": "3", "EMPTY": ""}, Secrets: []string{"API_KEY"},
		Data: "data", Docs: "none", Project: "src", Inputs: []string{"models:/models", "table.csv"}, Stage: "stage", Export: "out",
		Outputs: []string{"*.csv", "plots/**/*.svg"}, Exclude: []string{}, Workdir: "/job", Rootfs: "host", Runtime: "envs/science", IDs: "self",
		Memory: 512 * MiB, CPUs: 0.5, Pids: 64, Timeout: Duration(90 * time.Minute), Grace: Duration(10 * time.Second), LogSize: MiB,
		WorkSize: 3 * GiB, WorkFiles: 7000, WorkStorage: WorkTmpfs,
		Limits: "best-effort", DigestInputs: "full", Deterministic: &yes, Keep: "failed", Preload: "numpy,pandas",
		AllowHosts: []string{"api.example.org", "*.example.net:8443"}, Upload: 2 * MiB,
	}
}

func readTestdata(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestParseManifest(t *testing.T) {
	got, err := ParseManifest(readTestdata(t, "manifests/every-field.yaml"), "every-field.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := everyField(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for _, f := range fields {
		if f.Name != "command" && f.in(&got).IsZero() {
			t.Errorf("%s is not in it", f.Name)
		}
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
}

// TestJSONForms holds the two readers of the JSON form together: the catalog's encoding/json and the
// manifest's.
func TestJSONForms(t *testing.T) {
	for _, want := range []Analysis{everyField(), {Command: []string{"true"}}, everyField().WithDefaults()} {
		data, err := json.MarshalIndent(want, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		var decoded Analysis
		if err := json.Unmarshal(data, &decoded); err != nil || !reflect.DeepEqual(decoded, want) {
			t.Errorf("encoding/json: %v: got %+v\nwant %+v", err, decoded, want)
		}
		parsed, err := ParseManifest(data, "m.json")
		if err != nil || !reflect.DeepEqual(parsed, want) {
			t.Errorf("ParseManifest: %v: got %+v\nwant %+v", err, parsed, want)
		}
	}
}

func TestParseManifestText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"command: [a]\nlabels: {x: 0123}", "0123"},
		{"command: [a]\nlabels: {x: 1.50}", "1.50"},
		{"command: [a]\nlabels: {x: no}", "no"},
		{"command: [a]\nlabels: {x: 2026-11-21}", "2026-11-21"},
		{"command: [a]\nlabels: {x: ''}", ""},
		{"!!map\ncommand: !!seq [a]\n!!str labels: !!map {x: !!str 007}", "007"},
		{"command: [a]\nlabels: {x: ! b}", "b"},
		{`{"command":["a"],"labels":{"x":"a\/b \u00e4 \ud83d\ude00 \\ud83d"}}`, "a/b ä 😀 \\ud83d"},
		{"\ufeffcommand: [a]\r\nlabels:\r\n  x: y\r\n", "y"},
		{"---\ncommand: [a]\nlabels:\n  x: |-\n    y\n...\n", "y"},
	} {
		a, err := ParseManifest([]byte(c.text), "m")
		if err != nil || a.Labels["x"] != c.want {
			t.Errorf("%q: %q, %v; want %q", c.text, a.Labels["x"], err, c.want)
		}
	}
}

func TestParseManifestRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown field", "script: a.py\nmemry: 1GiB\n", `m.yaml:2: unknown field "memry"; did you mean "memory"?`},
		{"swapped letters", "scirpt: a.py\n", `m.yaml:1: unknown field "scirpt"; did you mean "script"?`},
		{"unlike any field", "network: host\n", `m.yaml:1: unknown field "network"`},
		{"json", "{\n \"script\": \"a\",\n \"output\": []\n}", `m.yaml:3: unknown field "output"; did you mean "outputs"?`},
		{"merge key", "script: a\n<<: {keep: never}\n", `m.yaml:2: unknown field "<<"`},
		{"duplicate", "script: a.py\nid: x\nscript: b.py\n", `m.yaml:3: field "script" is given twice, first in line 1`},
		{"duplicate env", "env:\n  A: 1\n  A: 2\n", `m.yaml:3: env: "A" is given twice`},
		{"complex key", "? [a]\n: b\n", "m.yaml:1: a field name must be a word, not a list"},
		{"empty", "", "m.yaml: the manifest is empty"},
		{"comment", "# nothing\n", "m.yaml: the manifest is empty"},
		{"empty document", "---\n", "m.yaml:2: a manifest must be a mapping"},
		{"list", "- a\n", "m.yaml:1: a manifest must be a mapping of fields such as \"script: a.py\", not a list"},
		{"word", "a.py\n", `m.yaml:1: a manifest must be a mapping of fields such as "script: a.py", not the value "a.py"`},
		{"two documents", "script: a\n---\nscript: b\n", "a manifest must be one document"},
		{"two empty documents", "script: a\n---\n", "a manifest must be one document"},
		{"null", "script: a\nmemory:\n", "m.yaml:2: memory: has no value"},
		{"json null", `{"script": "a", "id": null}`, "m.yaml:1: id: has no value"},
		{"null in a list", "command: [a, ~]\n", "m.yaml:1: command: must be text, not nothing"},
		{"empty id", "id: ''\n", "m.yaml:1: id: is empty"},
		{"command as text", "command: python3 a.py\n", `m.yaml:1: command: must be a list such as [a, b], not the value "python3 a.py"`},
		{"nested command", "command: [a, [b]]\n", "m.yaml:1: command: must be text, not a list"},
		{"script as list", "id: x\nscript: [a]\n", "m.yaml:2: script: must be text, not a list"},
		{"env as list", "env: [A=1]\n", "m.yaml:1: env: must be a mapping"},
		{"env of lists", "env:\n  A: 1\n  B: [2]\n", "m.yaml:3: env: must be text, not a list"},
		{"memory", "id: x\nmemory: lots\n", `m.yaml:2: memory: "lots" is no size above zero`},
		{"negative memory", "memory: -1\n", `m.yaml:1: memory: "-1" is no size`},
		{"zero memory", "memory: 0\n", `m.yaml:1: memory: "0" is no size`},
		{"memory as list", "memory: [1]\n", "m.yaml:1: memory: must be text, not a list"},
		{"cpus as text", "cpus: '2'\n", "m.yaml:1: cpus: must be a number"},
		{"cpus nan", "cpus: .nan\n", `m.yaml:1: cpus: ".nan" is no number of cores`},
		{"cpus inf", "cpus: .inf\n", `m.yaml:1: cpus: ".inf" is no number of cores`},
		{"cpus negative", "cpus: -1\n", `m.yaml:1: cpus: "-1" is no number of cores`},
		{"cpus zero", "cpus: 0\n", "m.yaml:1: cpus: 0 is no number of cores"},
		{"pids", "pids: 0\n", "m.yaml:1: pids: 0 is no number of processes"},
		{"pids fraction", "pids: 1.5\n", `m.yaml:1: pids: "1.5" is no number of processes`},
		{"timeout", "timeout: soon\n", `m.yaml:1: timeout: "soon" is no time above zero`},
		{"binary", "script: !!binary YQ==\n", `m.yaml:1: script: the tag "!!binary" is not known here`},
		{"own tag", "script: !foo a\n", `m.yaml:1: script: the tag "!foo"`},
		{"tag of a list", "id: x\ncommand: !shell [a]\n", `m.yaml:2: command: the tag "!shell" is not known here; take it out`},
		{"tag in a list", "command: [a,\n !!binary YQ==]\n", `m.yaml:2: command: the tag "!!binary"`},
		{"tag of a mapping", "env: !include {A: b}\n", `m.yaml:1: env: the tag "!include"`},
		{"tag of a key", "env:\n  !x A: b\n", `m.yaml:2: env: the tag "!x"`},
		{"tag of a value", "env:\n  A: !env b\n", `m.yaml:2: env: the tag "!env"`},
		{"tag of a number", "pids: !x 3\n", `m.yaml:1: pids: the tag "!x"`},
		{"tag of a field", "!x id: a\n", `m.yaml:1: the tag "!x"`},
		{"tag of the manifest", "--- !analysis\nid: a\n", `m.yaml:1: the tag "!analysis"`},
		{"tag with a handle", "%TAG ! tag:example.com,2000:\n---\nid: !x a\n", `m.yaml:3: id: the tag "tag:example.com,2000:x"`},
		{"set", "command: !!set {a}\n", `m.yaml:1: command: the tag "!!set"`},
		{"tag of another kind", "env: !!seq {A: b}\n", `m.yaml:1: env: the tag "!!seq"`},
		{"alias", "id: &x a\nscript: *x\n", "m.yaml:1: id: a manifest has no anchors and aliases"},
		{"list alias", "command: &x [a]\nargs: *x\n", "m.yaml:2: args: must be a list such as [a, b], not an alias"},
		{"star", "id: x\noutputs: [*.csv]\n", "m.yaml:2: malformed YAML: did not find expected alphabetic or numeric character: put a value that begins with '*'"},
		{"unknown anchor", "outputs: [*csv]\n", "m.yaml: unknown anchor 'csv' referenced: a manifest has no aliases; put a value"},
		{"NUL", "id: x\nscript: a\x00b\n", "m.yaml:2: control character U+0000"},
		{"escaped NUL", "id: x\nscript: \"a\\0b\"\n", `m.yaml:2: script: "a\x00b" has a NUL byte`},
		{"escape", "script: a\x1b[31m\n", "m.yaml:1: control character U+001B"},
		{"not UTF-8", "id: x\nscript: \xff\n", "m.yaml:2: byte 0xff is not UTF-8"},
		{"UTF-16", "\xff\xfei\x00", "m.yaml:1: byte 0xff is not UTF-8"},
		{"too large", "script: " + strings.Repeat("a", 1<<20), "the manifest has 1048584 bytes; at most 1048576 are read"},
		{"deep", "command: " + strings.Repeat("[", 100_000), "m.yaml:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := ParseManifest([]byte(c.text), "m.yaml")
			if err == nil {
				t.Fatalf("no error, got %+v", a)
			}
			if !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\n\x00\x1b") {
				t.Errorf("got  %v\nwant %v", err, c.want)
			}
		})
	}
}

func TestMalformedYAMLNamesItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"a: b: c\n":                              "m:1: malformed YAML: mapping values",
		"id: x\nmemory: a: b\n":                  "m:2: malformed YAML: mapping values",
		"id: x\nenv:\n  a: b\n bad: x\n":         "m:4: malformed YAML: did not find expected key",
		"id: x\n\tcommand: y\n":                  "m:2: malformed YAML: found a tab",
		"id: x\ncommand: [a,\n b\nmemory: 3\n":   "m:2: malformed YAML: did not find expected ','",
		"id: x\n- y\n":                           "m:2: malformed YAML: did not find expected key",
		"id: @x\n":                               "m:1: malformed YAML: found character",
		"id: x\nmemory: %3\n":                    "m:2: malformed YAML: found character",
		"{\"id\": \"x\"\n\"memory\": 3}\n":       "m:2: malformed YAML: did not find expected ','",
		"id: x\n\"ab\\q\": 2\n":                  "m:2: malformed YAML: found unknown escape",
		"# one\n# two\nid: x\nlabels: {a: b\n\n": "malformed YAML: did not find expected ','",
	} {
		_, err := ParseManifest([]byte(text), "m")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\ngot  %v\nwant %v", text, err, want)
		}
	}
}

func TestMalformedJSONNamesItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"command\": [\"true\"]\n\"pids\": 3}": "m.json:3: malformed JSON: invalid character '\"' after object key:value pair",
		"{\"command\": [\"true\"]":                 "m.json:1: malformed JSON: unexpected end of JSON input",
		"{\"command\": [\"true\"], \"pids\": 0}":   "m.json:1: pids",
	} {
		_, err := ParseManifest([]byte(text), "m.json")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q:\ngot  %v\nwant %v", text, err, want)
		}
	}
	if _, err := ParseManifest([]byte("{command: [a]}"), "m.json"); err != nil {
		t.Error(err)
	}
}

func FuzzParseManifest(f *testing.F) {
	for _, seed := range []string{
		"script: a.py\nmemory: 2GiB\nenv: {A: 1}\n", `{"command":["a","\ud83d\ude00"],"cpus":0.5}`, "a: &x [*x]", "id: x\n---\n", "? ", "{", "\"\\",
		"command: [a]\ninputs: ['a:/b']\noutputs: ['*']\ntimeout: 1h\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ParseManifest(data, "m")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "m:") || !reflect.DeepEqual(a, Analysis{}) {
				t.Fatalf("error %q with %+v", err, a)
			}
			return
		}
		if a.Validate() != nil {
			return
		}
		// What is valid can be recorded and read again as it was.
		recorded, err := json.Marshal(a.WithDefaults())
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseManifest(recorded, "m")
		if err != nil || !reflect.DeepEqual(again.WithDefaults(), withoutEmpty(a.WithDefaults())) {
			t.Fatalf("%v: recorded as %s, read as %+v", err, recorded, again)
		}
	})
}

// withoutEmpty drops empty lists and mappings, as JSON does; an empty exclude list means something.
func withoutEmpty(a Analysis) Analysis {
	for _, list := range []*[]string{&a.Command, &a.Args, &a.Secrets, &a.Inputs, &a.Outputs} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	for _, m := range []*map[string]string{&a.Labels, &a.Env} {
		if len(*m) == 0 {
			*m = nil
		}
	}
	return a
}
