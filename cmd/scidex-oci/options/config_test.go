package options

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
	"github.com/scidex-ai/scidex-oci/spec"
)

func TestParseConfig(t *testing.T) {
	got, err := parseConfig([]byte("# defaults\nmemory: 4GiB\ncpus: 0.5\nlog_size: 1MiB\ninput: [a, b]\nlabel: {team: brain}\noutput: '*.csv'\njson: true\nlog_level: debug\n"), configKeys())
	want := map[string][]string{
		"memory": {"4GiB"}, "cpus": {"0.5"}, "log-size": {"1MiB"}, "input": {"a", "b"}, "label": {"team=brain"},
		"output": {"*.csv"}, "json": {"true"}, "log-level": {"debug"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if got, err := parseConfig([]byte("memory: !!str 4GiB\ninput: !!seq [a]\n"), configKeys()); err != nil || got["memory"][0] != "4GiB" {
		t.Errorf("known tags: %q, %v", got, err)
	}
	if got, err := parseConfig([]byte("# nothing\n"), configKeys()); err != nil || len(got) != 0 {
		t.Errorf("comments only: %q, %v", got, err)
	}
}

func TestParseConfigRefuses(t *testing.T) {
	tests := map[string]string{
		"cpus: 1\nmemroy: 1GiB\n":     `line 2: unknown key "memroy"; did you mean "memory"?`,
		"log-size: 1MiB\n":            `unknown key "log-size"; did you mean "log_size"?`,
		"memory: 1\nmemory: 2\n":      `line 2: key "memory" is given twice`,
		"memory:\n":                   "give one value",
		"memory: [1, 2]\n":            "give one value",
		"input: [[a]]\n":              "give one value",
		"- memory\n":                  "not a mapping",
		"memory: 'x\n":                "line ",
		"memory: 1\n---\nmemory: 2\n": "more than one YAML document",
		"id: x\n":                     `unknown key "id"`,
		"again: x\n":                  `unknown key "again"`,
		"config: x\n":                 `unknown key "config"`,
		"cpus: 1\nmemory: !x 4GiB\n":  `line 2: the tag "!x" is not known here`,
		"memory: !!binary NEdpQg==\n": `line 1: the tag "!!binary"`,
		"allow_binds: !none [/srv]\n": `line 1: the tag "!none"`,
		"allow_binds:\n- !x /srv\n":   `line 2: the tag "!x"`,
		"label: {!x a: b}\n":          `line 1: the tag "!x"`,
		"runtimes: {a: !x /opt}\n":    `line 1: the tag "!x"`,
		"gc:\n  keep_last: !x 3\n":    `line 2: the tag "!x"`,
		"!x memory: 4GiB\n":           `line 1: the tag "!x"`,
		"--- !x\nmemory: 4GiB\n":      `line 1: the tag "!x"`,
	}
	for text, want := range tests {
		if _, err := parseConfig([]byte(text), configKeys()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", text, err, want)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("memory: 4GiB\ninput: [a]\nlabel: {a: b}\n"))
	f.Add([]byte("memory: &a [*a]\n"))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := parseConfig(data, configKeys())
		for name, list := range values {
			if err != nil || len(list) == 0 && !named(configKeys(), name).repeatable {
				t.Errorf("%s has %q with error %v", name, list, err)
			}
		}
	})
}

// TestAllowBinds: the caller's config file and the operator's both restrict, each by its own list.
func TestAllowBinds(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string { return write(t, filepath.Join(dir, name), text) }
	operator, mine := file("operator.yaml", "allow_binds: [/srv/data, sub]\n"), file("mine.yaml", "memory: 1GiB\nallow_binds: /home/me\n")
	byOperator := binds.Allowed{File: operator, Prefixes: []string{"/srv/data", filepath.Join(dir, "sub")}}
	byMe := binds.Allowed{File: mine, Prefixes: []string{"/home/me"}}
	empty, plain := file("empty.yaml", "allow_binds: []\n"), file("plain.yaml", "memory: 1GiB\n")
	none := filepath.Join(dir, "none.yaml")
	for name, c := range map[string]struct {
		used, operator string
		want           []binds.Allowed
	}{
		"nowhere":            {plain, none, nil},
		"mine":               {mine, none, []binds.Allowed{byMe}},
		"the operator's":     {plain, operator, []binds.Allowed{byOperator}},
		"both":               {mine, operator, []binds.Allowed{byMe, byOperator}},
		"the operator's own": {operator, operator, []binds.Allowed{byOperator}},
		"nothing allowed":    {empty, plain, []binds.Allowed{{File: empty}}},
	} {
		used, err := readConfig(c.used, configKeys())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := used.restrictions(c.operator); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	if got, err := (layer{}).restrictions(operator); err != nil || !reflect.DeepEqual(got, []binds.Allowed{byOperator}) {
		t.Errorf("no file in use: %+v, %v", got, err)
	}
}

// TestBadOperatorConfig: what cannot be read may hold a restriction.
func TestBadOperatorConfig(t *testing.T) {
	dir := t.TempDir()
	for name, path := range map[string]string{
		"malformed":   write(t, filepath.Join(dir, "a.yaml"), "allow_binds: [\n"),
		"null":        write(t, filepath.Join(dir, "b.yaml"), "allow_binds:\n"),
		"unknown key": write(t, filepath.Join(dir, "c.yaml"), "alow_binds: [/x]\n"),
		"a directory": dir,
		"no way":      filepath.Join(write(t, filepath.Join(dir, "d"), ""), "config.yaml"),
	} {
		if got, err := (layer{}).restrictions(path); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestAllowBindsIsNoFlag: who chooses flags, variables or manifests is whom it restricts.
func TestAllowBindsIsNoFlag(t *testing.T) {
	var g Global
	flags := append(g.Flags(), (&Run{}).Flags(&g)...)
	if named(flags, allowBinds) != nil {
		t.Error("it is a flag")
	}
	env := variables(map[string]string{"SCIDEX_OCI_ALLOW_BINDS": "/"})
	if from := fromEnvironment(flags, env, "/"); len(from.allowed()) > 0 {
		t.Error("it is a variable")
	}
	if _, err := spec.ParseManifest([]byte("command: [x]\nallow_binds: [/]\n"), "m.yaml"); err == nil {
		t.Error("it is a field of the manifest")
	}
}

func TestConfigPaths(t *testing.T) {
	dir := t.TempDir()
	second := write(t, filepath.Join(dir, "second.yaml"), "memory: 2GiB\n")
	from, err := fromConfig("", []string{filepath.Join(dir, "first.yaml"), second}, configKeys())
	if err != nil || from.text("memory").Value != "2GiB" || from.dir != dir {
		t.Errorf("got %+v, %v", from, err)
	}
	write(t, filepath.Join(dir, "first.yaml"), "nonsense: 1\n")
	if _, err := fromConfig("", []string{filepath.Join(dir, "first.yaml"), second}, configKeys()); err == nil {
		t.Error("a bad config file is passed over")
	}
	if _, err := fromConfig(filepath.Join(dir, "none.yaml"), nil, configKeys()); err == nil {
		t.Error("a config file that was asked for and is missing is passed over")
	}
	if got := configPaths(variables(map[string]string{"XDG_CONFIG_HOME": "/x", "HOME": "/h"}))[0]; got != "/x/scidex-oci/config.yaml" {
		t.Errorf("first place %q", got)
	}
	if got := configPaths(variables(map[string]string{"XDG_CONFIG_HOME": "relative", "HOME": "/h"}))[0]; got != "/h/.config/scidex-oci/config.yaml" {
		t.Errorf("first place %q", got)
	}
}

// variables makes an environment.
func variables(values map[string]string) Lookup {
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestParseConfigSection(t *testing.T) {
	got, err := parseConfig([]byte("memory: 1GiB\ngc:\n  older_than: 30d\n  keep_last: 100\n  outputs_only: true\n"), configKeys())
	if err != nil || got["older-than"][0] != "30d" || got["keep-last"][0] != "100" || got["outputs-only"][0] != "true" || got["memory"][0] != "1GiB" {
		t.Errorf("%v, %v", got, err)
	}
	for text, want := range map[string]string{
		"gc: [a]\n":                              "line 1: gc: not a mapping",
		"gc:\n  keep_last: 1\n  keep_last: 2":    `line 3: key "keep_last" is given twice`,
		"gc: {keep_last: 1}\ngc: {keep_last: 2}": `key "keep_last" is given twice`,
		"gc: {json: true}\n":                     `unknown key "json"`,
	} {
		if _, err := parseConfig([]byte(text), configKeys()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", text, err, want)
		}
	}
}

func TestUnknownConfigKey(t *testing.T) {
	for name, want := range map[string]string{
		"memroy":             `unknown key "memroy"; did you mean "memory"? "scidex-oci run --help" explains the keys`,
		"gc.keep_lst":        `unknown key "gc.keep_lst"; did you mean "gc.keep_last"? "scidex-oci run --help" explains the keys`,
		"limits=best-effort": `unknown key "limits=best-effort"; write: scidex-oci config set limits best-effort`,
		"label=a=b c":        `unknown key "label=a=b c"; write: scidex-oci config set label 'a=b c'`,
		"limit=best-effort":  `unknown key "limit=best-effort"; did you mean "limits"? "scidex-oci run --help" explains the keys`,
		"zzzzzz":             `unknown key "zzzzzz"; the keys are the flags of run with underscores, such as memory or log_size; see "scidex-oci run --help"`,
	} {
		if _, err := ParseConfigKey(name); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
