package options

import (
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/recovery"
)

func TestRetentionOf(t *testing.T) {
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name          string
		flags, config map[string]string
		want          recovery.Retention
	}{
		{"nothing", nil, nil, recovery.Retention{}},
		{"age", map[string]string{"older-than": "30d"}, nil, recovery.Retention{Before: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}},
		{"date", map[string]string{"older-than": "2026-01-31"}, nil, recovery.Retention{Before: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)}},
		{"number", map[string]string{"keep-last": "7"}, nil, recovery.Retention{KeepLast: 7}},
		{
			"a flag and a key",
			map[string]string{"older-than": "1h"},
			map[string]string{"keep-last": "7", "outputs-only": "true"},
			recovery.Retention{Before: now.Add(-time.Hour), KeepLast: 7, OutputsOnly: true},
		},
		{"the flag wins", map[string]string{"keep-last": "8"}, map[string]string{"keep-last": "7"}, recovery.Retention{KeepLast: 8}},
		{"all", map[string]string{"keep-last": "all"}, map[string]string{"keep-last": "7", "older-than": "1h", "outputs-only": "true"}, recovery.Retention{}},
	}
	for _, tt := range tests {
		var o Retention
		config := ""
		for key, value := range tt.config {
			config += "  " + strings.ReplaceAll(key, "-", "_") + ": " + value + "\n"
		}
		if config != "" {
			config = "gc:\n" + config
		}
		if err := parse(t, o.Flags(), lineOf(tt.flags), nil, config); err != nil {
			t.Fatal(err)
		}
		got, err := o.At(now)
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
		var o Retention
		if err := parse(t, o.Flags(), lineOf(bad), nil, ""); err != nil {
			t.Fatal(err)
		}
		got, err := o.At(time.Now())
		if err == nil || !strings.Contains(err.Error(), name) || got.Asked() {
			t.Errorf("%v: %+v, %v, want %q in it", bad, got, err, name)
		}
	}
}

// lineOf is a command line of flags with values.
func lineOf(values map[string]string) []string {
	var line []string
	for name, value := range values {
		line = append(line, "--"+name+"="+value)
	}
	return line
}
