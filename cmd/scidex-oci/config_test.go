package main

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
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
			if err != nil || len(list) == 0 && !repeatable(lookupFlag(configFlags(), name)) {
				t.Errorf("%s has %q with error %v", name, list, err)
			}
		}
	})
}

func TestConfigPlaces(t *testing.T) {
	dir := t.TempDir()
	second := write(t, filepath.Join(dir, "second.yaml"), "memory: 2GiB\n")
	from, err := fromConfig("", []string{filepath.Join(dir, "first.yaml"), second}, configKeys())
	if err != nil || from.text("memory") != "2GiB" || from.dir != dir {
		t.Errorf("got %+v, %v", from, err)
	}
	write(t, filepath.Join(dir, "first.yaml"), "nonsense: 1\n")
	if _, err := fromConfig("", []string{filepath.Join(dir, "first.yaml"), second}, configKeys()); err == nil {
		t.Error("a bad config file is passed over")
	}
	if _, err := fromConfig(filepath.Join(dir, "none.yaml"), nil, configKeys()); err == nil {
		t.Error("a config file that was asked for and is missing is passed over")
	}
	if got := configPlaces(variables(map[string]string{"XDG_CONFIG_HOME": "/x", "HOME": "/h"}))[0]; got != "/x/scidex-oci/config.yaml" {
		t.Errorf("first place %q", got)
	}
	if got := configPlaces(variables(map[string]string{"XDG_CONFIG_HOME": "relative", "HOME": "/h"}))[0]; got != "/h/.config/scidex-oci/config.yaml" {
		t.Errorf("first place %q", got)
	}
}
