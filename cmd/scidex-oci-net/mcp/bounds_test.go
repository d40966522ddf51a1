package mcp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/spec"
)

// TestLimits: each limit is read, and one above the operator's bound is refused by a sentence that has both.
func TestLimits(t *testing.T) {
	most := spec.Analysis{Memory: spec.GiB, CPUs: 2, Pids: 10, Timeout: spec.Duration(time.Minute), LogSize: spec.MiB, WorkSize: spec.GiB, WorkFiles: 100}
	for _, test := range []struct {
		limits  limits
		timeout string
		want    string // "": taken
	}{
		{limits{}, "", ""},
		{limits{Memory: "1GiB", CPUs: new(2.0), Pids: new(int64(10)), LogSize: "1MiB", WorkSize: "1GiB", WorkFiles: new(int64(100))}, "60s", ""},
		{limits{Memory: "2GiB"}, "", "memory 2GiB is above the bound of the operator, 1GiB"},
		{limits{CPUs: new(2.5)}, "", "cpus 2.5 is above the bound of the operator, 2"},
		{limits{Pids: new(int64(11))}, "", "pids 11 is above the bound of the operator, 10"},
		{limits{}, "61s", "timeout 1m1s is above the bound of the operator, 1m;"},
		{limits{LogSize: "2MiB"}, "", "log_size 2MiB is above the bound of the operator, 1MiB"},
		{limits{WorkSize: "2GiB"}, "", "work_size 2GiB is above the bound of the operator, 1GiB"},
		{limits{WorkFiles: new(int64(101))}, "", "work_files 101 is above the bound of the operator, 100"},
		{limits{Memory: "much"}, "", "memory: "},
		{limits{LogSize: "-1"}, "", "log_size: "},
		{limits{}, "soon", "timeout: "},
		{limits{CPUs: new(-1.0)}, "", "cpus -1: give a number above zero, or leave it out for the operator's"},
		{limits{CPUs: new(0.0)}, "", "cpus 0: give a number above zero"},
		{limits{Pids: new(int64(0))}, "", "pids 0: give a number above zero"},
		{limits{WorkFiles: new(int64(0))}, "", "work_files 0: give a number above zero"},
		{limits{Memory: "0"}, "", `memory: "0" is no size above zero`},
		{limits{}, "0", "timeout: "},
	} {
		var a spec.Analysis
		err := test.limits.read(&a, test.timeout)
		if err == nil {
			err = within(a, most)
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v %s: %v, want %q", test.limits, test.timeout, err, test.want)
		}
	}
}

// TestInputs: only names that stay below the operator's data become binds, links resolved.
func TestInputs(t *testing.T) {
	top := t.TempDir()
	data := filepath.Join(top, "data")
	for _, dir := range []string{"data/sub", "secret"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"data/a.csv", "data/sub/b.csv", "data/a:", "secret/key"} {
		if err := os.WriteFile(filepath.Join(top, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"out": "../secret", "in": "sub", "abs": filepath.Join(top, "secret/key"), "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(data, name)); err != nil {
			t.Fatal(err)
		}
	}
	tools := &tools{bounds: spec.Analysis{Data: data}}
	got, ofData, err := tools.inputs(t.Context(), []string{"a.csv", "sub/b.csv", "in"})
	want := []string{data + "/a.csv:/inputs/a.csv", data + "/sub/b.csv:/inputs/sub/b.csv", data + "/sub:/inputs/in"}
	if err != nil || !ofData || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for _, names := range [][]string{{"a.csv", "a.csv"}, {"in/b.csv", "in"}, {"in", "in/b.csv"}} {
		if _, _, err := tools.inputs(t.Context(), names); err == nil || !strings.Contains(err.Error(), "would hide each other") || strings.Contains(err.Error(), top) {
			t.Errorf("%q: %v", names, err)
		}
	}
	for name, want := range map[string]string{
		"../secret/key": "give a relative path", "/etc/passwd": "give a relative path", "": "give a relative path",
		"a:/etc": "give a relative path", "a:": "give a relative path", "a\x00": "give a relative path", "sha256:abc": "64 digits", "scidex-oci://runs/x": "no such output", "s3://b/sha256/" + strings.Repeat("a", 64): "give a relative path", "sub/../../secret": "give a relative path",
		"out": "leads out of /data", "out/key": "leads out of /data", "abs": "leads out of /data", "none": "there is no such file", "loop": "cannot be read",
	} {
		if got, _, err := tools.inputs(t.Context(), []string{name}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), top) {
			t.Errorf("%q: %q, %v, want %s", name, got, err, want)
		}
	}
	if _, _, err := tools.inputs(t.Context(), make([]string, mostInputs+1)); err == nil || !strings.Contains(err.Error(), "at most 100") {
		t.Error(err)
	}
	tools.bounds.Data = spec.None
	if _, _, err := tools.inputs(t.Context(), []string{"a.csv"}); err == nil || !strings.Contains(err.Error(), "shares no data") {
		t.Error(err)
	}
}

// TestProgram: a call has one thing to run.
func TestProgram(t *testing.T) {
	for want, in := range map[string]runInput{
		"nothing to run":    {},
		"two things to run": {Code: "1", Command: []string{"true"}},
		"args and language": {Command: []string{"true"}, Args: []string{"a"}},
		`language: there is no "perl"; choose from bash, julia, python, r, sh, shell, or leave it out and begin the code with a line such as #!/usr/bin/env perl`: {Code: "1", Language: "perl"},
		`language: there is no "pyton"; did you mean "python"?`: {Code: "1", Language: "pyton"},
	} {
		if err := checkProgram(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", in, err, want)
		}
	}
	for _, in := range []runInput{{Code: "1"}, {Code: "1", Language: "r", Args: []string{"a"}}, {Command: []string{"true"}}} {
		if err := checkProgram(in); err != nil {
			t.Errorf("%+v: %v", in, err)
		}
	}
}

func TestNetwork(t *testing.T) {
	if got := network(spec.Analysis{}); got != "without a network" {
		t.Error(got)
	}
	want := "without a network except for HTTP requests to rest.example.org, *.example.com:443, by the proxy that http_proxy names"
	if got := network(spec.Analysis{AllowHosts: []string{"rest.example.org", "*.example.com:443"}}); got != want {
		t.Error(got)
	}
}
