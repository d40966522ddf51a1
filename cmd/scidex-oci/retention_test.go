package main

import (
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/runner"
)

func TestRetentionOf(t *testing.T) {
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name          string
		flags, config map[string]string
		want          runner.Retention
	}{
		{"nothing", nil, nil, runner.Retention{}},
		{"age", map[string]string{"older-than": "30d"}, nil, runner.Retention{Before: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}},
		{"date", map[string]string{"older-than": "2026-01-31"}, nil, runner.Retention{Before: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)}},
		{"number", map[string]string{"keep-last": "7"}, nil, runner.Retention{KeepLast: 7}},
		{
			"a flag and a key",
			map[string]string{"older-than": "1h"},
			map[string]string{"keep-last": "7", "outputs-only": "true"},
			runner.Retention{Before: now.Add(-time.Hour), KeepLast: 7, OutputsOnly: true},
		},
		{"the flag wins", map[string]string{"keep-last": "8"}, map[string]string{"keep-last": "7"}, runner.Retention{KeepLast: 8}},
		{"all", map[string]string{"keep-last": "all"}, map[string]string{"keep-last": "7", "older-than": "1h", "outputs-only": "true"}, runner.Retention{}},
	}
	for _, tt := range tests {
		got, err := retentionOf(append(given(tt.flags), given(tt.config)...), now)
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v, want %+v", tt.name, got, err, tt.want)
		}
	}
}

// What is refused gives nothing up.
func TestRetentionOfRefuses(t *testing.T) {
	for name, bad := range map[string]map[string]string{
		"--keep-last":    {"keep-last": "0", "older-than": "1h"},
		"--keep-last \"": {"keep-last": "-1"},
		"1 on, or all":   {"keep-last": "many"},
		"--older-than":   {"older-than": "30 days"},
		"ago as 7d":      {"older-than": "-1h", "keep-last": "1"},
		"--outputs-only": {"outputs-only": "true"},
		"true or false":  {"outputs-only": "maybe", "keep-last": "1"},
	} {
		got, err := retentionOf(given(bad), time.Now())
		if err == nil || !strings.Contains(err.Error(), name) || got.Asked() {
			t.Errorf("%v: %+v, %v, want %q in it", bad, got, err, name)
		}
	}
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
