package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci-net/commands"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner"
)

// wholeProgram has the commands of scidex-oci-net too.
func wholeProgram() *command.Program { return &command.Program{Net: commands.New} }

// runProgram runs one command line in an empty directory with a root of its own.
func runProgram(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	out, errs := file(t, filepath.Join(dir, "stdout")), file(t, filepath.Join(dir, "stderr"))
	p := &command.Program{Build: command.ReadBuild(), Net: commands.New, Stdin: strings.NewReader(""), Stdout: &screen.Stdout{File: out}, Stderr: errs, Env: variables(map[string]string{
		"SCIDEX_OCI_ROOT": filepath.Join(dir, "root"), "SCIDEX_OCI_TMP": dir, "XDG_CONFIG_HOME": dir,
	})}
	code = execute(append([]string{"scidex-oci"}, args...), p)
	return code, read(t, out), read(t, errs)
}

func file(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func read(t *testing.T, f *os.File) string {
	t.Helper()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestErrorsAreOneLine(t *testing.T) {
	for _, line := range []string{
		"rnu", "run", "run --memry 2g x", "run --id .. x", "run --memory 2Q x", "run -f none.yaml", "run --again none",
		"run --config none.yaml x", "run --log-level loud x", "ls --state faild", "show", "show a b", "show none", "logs none",
		"outputs ls none", "outputs cat none a", "outputs export none d", "report", "report none", "report none -o -", "report none -o .", "rm none", "rm", "gc x", "completion csh", "completion",
		"docs", "spec", "--db postgres://h/d ls", "--blobs s3://b ls",
	} {
		code, stdout, stderr := runProgram(t, strings.Fields(line)...)
		if code != outcome.ExitError || stdout != "" || !strings.HasPrefix(stderr, "scidex-oci: ") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: code %d, stdout %q, stderr %q", line, code, stdout, stderr)
		}
		if strings.Contains(stderr, "failed to") {
			t.Errorf("%q: %q", line, stderr)
		}
	}
}

func TestRefusedRequestsAreOneObject(t *testing.T) {
	for _, line := range []string{
		"run --json", "run --json --memry 2g x", "run --memory 2Q --json x", "run --json --id .. x", "run --json -f none.yaml",
		"run --json --again none", "run --json --config none.yaml x", "run --json --bogus", "run --bogus --json=true",
		"run --json --limits enfoce x", "run --json --network host x", "run --json --log-level loud x",
	} {
		code, stdout, stderr := runProgram(t, strings.Fields(line)...)
		decoder := json.NewDecoder(strings.NewReader(stdout))
		var printed map[string]any
		if err := decoder.Decode(&printed); err != nil || decoder.More() {
			t.Errorf("%q: stdout %q, %v; want one object", line, stdout, err)
			continue
		}
		if code != outcome.ExitError || printed["state"] != "error" || printed["reason"] != "request" || printed["exit_code"] != 125.0 || printed["message"] == "" {
			t.Errorf("%q: code %d, %s", line, code, stdout)
		}
		for _, list := range []string{"outputs", "rejected", "enforced"} {
			if _, ok := printed[list].([]any); !ok {
				t.Errorf("%q: %s is %v, want a list", line, list, printed[list])
			}
		}
		if !strings.HasPrefix(stderr, "scidex-oci: ") {
			t.Errorf("%q: stderr %q", line, stderr)
		}
	}
}

func TestRefusedRequestsTouchNothing(t *testing.T) {
	for _, line := range []string{"run --id .. x", "run", "run --memory -1 x", "run -f none.yaml", "run --limits enfoce x"} {
		runProgram(t, strings.Fields(line)...)
		if _, err := os.Stat("root"); !os.IsNotExist(err) {
			t.Errorf("%q made the root: %v", line, err)
		}
	}
}

func TestHelpNamesTheExitCodes(t *testing.T) {
	for _, line := range []string{"--help", "help", "run --help", ""} {
		code, stdout, stderr := runProgram(t, strings.Fields(line)...)
		if code != 0 || stderr != "" || !strings.Contains(stdout, "124  timed out") {
			t.Errorf("%q: code %d, stderr %q", line, code, stderr)
		}
	}
}

// TestReaderGone: an error with another one in it is told, though nothing reads the output any more.
func TestReaderGone(t *testing.T) {
	out := &screen.Stdout{File: file(t, filepath.Join(t.TempDir(), "out"))}
	gone := &fs.PathError{Op: "write", Path: out.Name(), Err: syscall.EPIPE}
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{gone, true},
		{fmt.Errorf("table: %w", gone), true},
		{errors.Join(gone, nil), true},
		{errors.Join(gone, errors.New("a blob is missing")), false},
		{fmt.Errorf("table: %w", errors.Join(errors.New("the catalog is away"), gone)), false},
		{&fs.PathError{Op: "write", Path: "/elsewhere", Err: syscall.EPIPE}, false},
	} {
		if got := readerGone(test.err, out); got != test.want {
			t.Errorf("%v: %v", test.err, got)
		}
	}
}

func TestVersion(t *testing.T) {
	code, stdout, _ := runProgram(t, "--version")
	if code != 0 || !strings.HasPrefix(stdout, "scidex-oci "+command.Version) {
		t.Errorf("code %d, %q", code, stdout)
	}
	b := command.Build{Version: "1.0", Commit: "abc", Date: "2026-01-31", GoVersion: "go1.26", RunC: "v1.5.2"}
	var got strings.Builder
	if err := b.Print(&got); err != nil {
		t.Fatal(err)
	}
	if want := "scidex-oci 1.0\ncommit abc\nbuilt 2026-01-31\ngo 1.26\nlibcontainer (runc) v1.5.2\n"; got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
}

func TestABugIsOneSentence(t *testing.T) {
	p := &command.Program{Env: func(name string) (string, bool) {
		if name == "SCIDEX_OCI_ROOT" {
			panic("boom")
		}
		return "", false
	}}
	err := perform([]string{"scidex-oci", "ls"}, p)
	if err == nil || !strings.HasPrefix(err.Error(), "internal error: boom; ") {
		t.Errorf("got %v", err)
	}
}

func TestWantsJSON(t *testing.T) {
	env := variables(nil)
	for line, want := range map[string]bool{
		"run --json --bogus": true, "run -json": true, "run --bogus": false, "ls --json --bogus": false, "run -- --json": false,
	} {
		if got := wantsJSON(strings.Fields(line), env); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
	if !wantsJSON([]string{"run", "--bogus"}, variables(map[string]string{"SCIDEX_OCI_JSON": "1"})) {
		t.Error("SCIDEX_OCI_JSON is not seen")
	}
}

// A run that is refused late has started a supervisor, which is this very program.
func TestMain(m *testing.M) {
	runner.Reexec()
	os.Exit(m.Run())
}

// variables makes an environment.
func variables(values map[string]string) options.Lookup {
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}
