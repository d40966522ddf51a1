package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

func TestHint(t *testing.T) {
	exit := func(code int) result.Result {
		return result.Result{State: catalog.Failed, Reason: result.ReasonExit, ExitCode: code}
	}
	command := func(words ...string) spec.Analysis { return spec.Analysis{Command: words} }
	tests := []struct {
		name string
		in   circumstances
		want []string // parts of it; none: no hint
	}{
		{"success", circumstances{result: result.Result{State: catalog.Complete, Reason: result.ReasonExit}, stderr: "ModuleNotFoundError: No module named 'numpy'"}, nil},
		{"plain failure", circumstances{result: exit(1), stderr: "ValueError: x", analysis: command("python3")}, nil},
		{
			"own script",
			circumstances{result: exit(2), analysis: command("python3", "a.py"), local: []string{"a.py"}, stderr: "python3: can't open file '/work/a.py'"},
			[]string{"--script a.py", "--project .", "/analysis/a.py"},
		},
		{
			"own program",
			circumstances{
				result:   result.Result{State: catalog.Failed, Reason: result.ReasonNotFound, ExitCode: 127},
				analysis: command("./tool"), local: []string{"./tool"},
			},
			[]string{"--script ./tool", "/analysis/tool"},
		},
		{
			"own data",
			circumstances{result: exit(1), analysis: command("cat", "t/a.csv"), local: []string{"t/a.csv"}},
			[]string{"--input t/a.csv", "/inputs/a.csv"},
		},
		{
			"module",
			circumstances{result: exit(1), stderr: "Traceback\nModuleNotFoundError: No module named 'scipy.stats'\n"},
			[]string{`"scipy"`, "virtual environment", "--runtime DIR", "--project DIR"},
		},
		{
			"module with project",
			circumstances{result: exit(1), analysis: spec.Analysis{Project: "/p"}, stderr: "ModuleNotFoundError: No module named 'x'"},
			[]string{"not next to the script in --project"},
		},
		{
			"permission",
			circumstances{result: exit(1), stderr: "PermissionError: [Errno 13] Permission denied: '/data/a.csv'"},
			[]string{"/data/a.csv", "chmod -R o+rX", "--ids self"},
		},
		{
			"permission by the link",
			circumstances{result: exit(1), stderr: "PermissionError: [Errno 13] Permission denied: 'data/a.csv'"},
			[]string{"data/a.csv", "--ids self"},
		},
		{"permission elsewhere", circumstances{result: exit(1), stderr: "PermissionError: [Errno 13] Permission denied: '/proc/kcore'"}, nil},
		{
			"permission as self",
			circumstances{result: self(exit(1)), stderr: "PermissionError: [Errno 13] Permission denied: '/docs/a'"},
			[]string{"by you either"},
		},
		{
			"read-only",
			circumstances{result: exit(1), stderr: "OSError: [Errno 30] Read-only file system: '/data/out.csv'"},
			[]string{"/data/out.csv cannot be written", "/work"},
		},
		{"memory", circumstances{result: result.Result{State: catalog.Failed, Reason: result.ReasonOutOfMemory, ExitCode: 137}}, []string{"--memory"}},
		{"time", circumstances{result: result.Result{State: catalog.Failed, Reason: result.ReasonTimeout, ExitCode: 124}}, []string{"--timeout"}},
		{"the host's error", circumstances{result: result.Result{State: catalog.Error, Reason: result.ReasonSandbox}, local: []string{"a.py"}}, []string{"scidex-oci doctor"}},
		{"error of ours", circumstances{result: result.Result{State: catalog.Error, Reason: result.ReasonHarvest}, local: []string{"a.py"}}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := hint(test.in)
			if (got == "") != (len(test.want) == 0) {
				t.Fatalf("hint %q, want parts %q", got, test.want)
			}
			for _, part := range test.want {
				if !strings.Contains(got, part) {
					t.Errorf("hint %q lacks %q", got, part)
				}
			}
		})
	}
}

// Only a refusal that is the host's doing leads to doctor.
func TestWithDoctor(t *testing.T) {
	for message, err := range map[string]error{
		"no group; " + askDoctor: &request.Error{Err: &request.HostError{Err: errors.New("no group")}},
		"no flag":                &request.Error{Err: errors.New("no flag")},
	} {
		if got := withDoctor(err); got.Error() != message || !errors.Is(got, err) {
			t.Errorf("%q, want %q", got, message)
		}
	}
}

func TestLocal(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.py", "data/b.csv", "data.csv"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command := []string{"python3", "a.py", "./a.py", "data/b.csv", "data", "data.csv", "/etc/passwd", "../x", "--flag=a.py", ""}
	want := []string{"a.py", "./a.py", "data.csv"}
	if got := local(command, dir); !slices.Equal(got, want) {
		t.Errorf("local = %q, want %q", got, want)
	}
}

func self(result result.Result) result.Result {
	result.Sandbox.IDs = "self"
	return result
}
