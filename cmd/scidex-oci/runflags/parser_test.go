package runflags

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/spec"
)

// parserOf reads the command line "run" with args, and returns the parser of its request.
func parserOf(t *testing.T, dir string, env map[string]string, args ...string) Parser {
	t.Helper()
	t.Chdir(dir)
	p := &command.Program{Stdin: strings.NewReader(""), Env: lookupIn(env), Options: &options.Global{}}
	var k Parser
	o := NewOptions(p)
	run := &cli.Command{Name: "run", HideHelpCommand: true, Flags: options.List(o.Flags(p.Options)...), Action: func(c *cli.Context) error {
		err := p.Load(c)
		k = NewParser(p, c, o)
		return err
	}}
	app := &cli.App{
		Name: "scidex-oci", Flags: options.List(p.Options.Flags()...), Commands: []*cli.Command{run}, HideHelpCommand: true, DisableSliceFlagSeparator: true,
	}
	line, err := command.Arrange(app, append([]string{"run"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Run(line); err != nil {
		t.Fatal(err)
	}
	return k
}

func noFind(context.Context, string) (catalog.Run, error) {
	return catalog.Run{}, catalog.ErrNotFound
}

func TestAnalysisOfFlags(t *testing.T) {
	dir := t.TempDir()
	k := parserOf(t, dir, map[string]string{"HOME": "/nowhere", "TOKEN": "s3cret", "LANGUAGE": "de"},
		"--id", "x1", "--data=d", "--docs", "none", "--project", ".", "--input", "in.csv", "--input", "/abs:/inputs/other",
		"--script", "s.py", "--stage", "st", "--export", "out", "--env", "A=1,2=3", "--env", "LANGUAGE", "--secret", "TOKEN",
		"--label", "team=brain", "--output", "*.csv", "--exclude", "*.tmp", "--ids", "self", "--memory", "512MiB",
		"--cpus", "0.5", "--pids", "50", "--timeout", "90s", "--grace", "1s", "--log-size", "1MiB", "--limits", "best-effort",
		"--work-size", "3GiB", "--work-files", "7", "--work-storage", "tmpfs", "--network", "none", "--digest-inputs", "full", "--deterministic", "--keep", "failed", "--workdir", "/job", "--rootfs", "host", "--", "--seed", "2", "--json")
	got, err := k.Analysis(t.Context(), noFind)
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	in := func(name string) string { return filepath.Join(dir, name) }
	want := spec.Analysis{
		ID: "x1", Data: in("d"), Docs: "none", Project: dir, Inputs: []string{in("in.csv") + ":/inputs/in.csv", "/abs:/inputs/other"},
		Script: in("s.py"), Args: []string{"--seed", "2", "--json"}, Stage: in("st"), Export: in("out"),
		Env: map[string]string{"A": "1,2=3", "LANGUAGE": "de"}, Secrets: []string{"TOKEN"}, Labels: map[string]string{"team": "brain"},
		Outputs: []string{"*.csv"}, Exclude: []string{"*.tmp"}, IDs: "self", Memory: 512 * spec.MiB, CPUs: 0.5, Pids: 50,
		Timeout: spec.Duration(90 * time.Second), Grace: spec.Duration(time.Second), LogSize: spec.MiB,
		WorkSize: 3 * spec.GiB, WorkFiles: 7, WorkStorage: "tmpfs",
		Limits: "best-effort", DigestInputs: "full", Deterministic: &yes, Keep: "failed", Workdir: "/job", Rootfs: "host",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	if o, err := k.Options(); err != nil || o.JSON {
		t.Errorf("options %+v, %v: --json after -- belongs to the script", o, err)
	}
}

func TestPrecedence(t *testing.T) {
	dir := t.TempDir()
	config := write(t, filepath.Join(dir, "etc", "c.yaml"), "memory: 1GiB\ncpus: 2\npids: 10\ntimeout: 1m\ndata: d\nenv: {A: config, B: config}\nlog_size: 2MiB\n")
	manifest := write(t, filepath.Join(dir, "m", "m.yaml"), "command: [python3, m.py]\ncpus: 3\npids: 11\ntimeout: 2m\ndocs: d\nenv: {B: manifest, C: manifest}\n")
	write(t, filepath.Join(dir, "etc", "d", "a.csv"), "")
	k := parserOf(t, dir, map[string]string{"SCIDEX_OCI_CONFIG": config, "SCIDEX_OCI_PIDS": "12", "SCIDEX_OCI_TIMEOUT": "3m", "SCIDEX_OCI_ENV": "C=env,D=env", "SCIDEX_OCI_KEEP": ""},
		"-f", manifest, "--timeout", "4m", "--env", "D=flag")
	got, err := k.Analysis(t.Context(), noFind)
	if err != nil {
		t.Fatal(err)
	}
	want := spec.Analysis{
		Command: []string{"python3", "m.py"}, Memory: spec.GiB, CPUs: 3, Pids: 12, Timeout: spec.Duration(4 * time.Minute),
		LogSize: 2 * spec.MiB, Data: filepath.Join(dir, "etc", "d"), Docs: filepath.Join(dir, "m", "d"),
		Env: map[string]string{"A": "config", "B": "manifest", "C": "env", "D": "flag"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestCommandReplacesManifest(t *testing.T) {
	dir := t.TempDir()
	script := write(t, filepath.Join(dir, "script.yaml"), "script: s.py\nargs: [a]\n")
	command := write(t, filepath.Join(dir, "command.yaml"), "command: [a, b]\n")
	tests := []struct {
		args          []string
		script        string
		command, rest []string
	}{
		{[]string{"-f", script}, "s.py", nil, []string{"a"}},
		{[]string{"-f", script, "--", "x", "-y"}, "", []string{"x", "-y"}, nil},
		{[]string{"-f", command, "--script", "t.py", "-z"}, "t.py", nil, []string{"-z"}},
		{[]string{"-f", command, "x"}, "", []string{"x"}, nil},
		{[]string{"x", "--json", "--", "-f"}, "", []string{"x", "--json", "--", "-f"}, nil},
		{[]string{"help"}, "", []string{"help"}, nil},
	}
	for _, test := range tests {
		if len(test.args) > 2 && test.args[2] == "--script" {
			// "-z" is no flag of run, so it must come after "--".
			test.args = []string{"-f", command, "--script", "t.py", "--", "-z"}
		}
		a, err := parserOf(t, dir, nil, test.args...).Analysis(t.Context(), noFind)
		if err != nil {
			t.Errorf("%q: %v", test.args, err)
			continue
		}
		name := ""
		if a.Script != "" {
			name = filepath.Base(a.Script)
		}
		if name != test.script || !reflect.DeepEqual(a.Command, test.command) || !reflect.DeepEqual(a.Args, test.rest) {
			t.Errorf("%q: script %q, command %q, args %q", test.args, a.Script, a.Command, a.Args)
		}
	}
}

func TestAgain(t *testing.T) {
	recorded, err := json.Marshal(spec.Analysis{
		ID: "old", Command: []string{"a"}, Export: "/out", Memory: spec.GiB, Secrets: []string{"TOKEN"}, Env: map[string]string{"A": "1"},
	}.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	find := func(_ context.Context, name string) (catalog.Run, error) {
		if name != "old" && name != "ol" {
			return catalog.Run{}, catalog.ErrNotFound
		}
		return catalog.Run{Key: catalog.Key{ID: "old", Attempt: 3}, Request: recorded}, nil
	}
	dir := t.TempDir()
	k := parserOf(t, dir, map[string]string{"TOKEN": "t"}, "--again", "old", "--memory", "4GiB", "--secret", "A", "--env", "TOKEN=plain", "--")
	k.env = lookupIn(map[string]string{"A": "now secret"})
	a, err := k.Analysis(t.Context(), find)
	if err != nil {
		t.Fatal(err)
	}
	if a.ID != "old" || a.Export != "" || a.Memory != 4*spec.GiB || a.Pids != 100 {
		t.Errorf("got %+v", a)
	}
	if !reflect.DeepEqual(a.Secrets, []string{"A"}) || !reflect.DeepEqual(a.Env, map[string]string{"TOKEN": "plain"}) {
		t.Errorf("secrets %q, env %q: a name is one or the other, as asked last", a.Secrets, a.Env)
	}
	if o, err := k.Options(); err != nil || !o.Again {
		t.Errorf("options %+v, %v", o, err)
	}
	_, err = parserOf(t, dir, nil, "--again", "ol").Analysis(t.Context(), find)
	if err == nil || !strings.Contains(err.Error(), "type all of it here: old") {
		t.Errorf("a prefix: %v", err)
	}
}

func TestRefusedRequests(t *testing.T) {
	dir := t.TempDir()
	manifest := write(t, filepath.Join(dir, "m.yaml"), "command: [a]\n")
	broken := write(t, filepath.Join(dir, "broken.yaml"), "command: [a]\nmemroy: 1GiB\n")
	long := strings.Repeat("x", 300)
	tests := []struct {
		args []string
		want string // part of the message
	}{
		{nil, "nothing to run"},
		{[]string{"--id", "..", "x"}, `".."`},
		{[]string{"--id", "a/b", "x"}, `"a/b"`},
		{[]string{"--id", "", "x"}, `""`},
		{[]string{"--id=-rf", "x"}, `"-rf"`},
		{[]string{"--id", long, "x"}, "300 bytes"},
		{[]string{"--id", "a\nb", "x"}, `"a\nb"`},
		{[]string{"--data", "", "x"}, `--data ""`},
		{[]string{"--input", "", "x"}, `--input ""`},
		{[]string{"--memory", "2Q", "x"}, `--memory: "2Q"`},
		{[]string{"--memory", "-1", "x"}, `"-1"`},
		{[]string{"--cpus", "0", "x"}, `--cpus`},
		{[]string{"--timeout", "0", "x"}, `--timeout`},
		{[]string{"--pids", "many", "x"}, `--pids`},
		{[]string{"--env", "=x", "x"}, `--env "=x"`},
		{[]string{"--env", "UNSET", "x"}, `--env "UNSET": no such variable`},
		{[]string{"--secret", "UNSET", "x"}, `secret "UNSET": no such variable`},
		{[]string{"--label", "team", "x"}, `--label "team"`},
		{[]string{"--network", "host", "x"}, `--network "host": a run never gets a network`},
		{[]string{"--again", "a", "-f", manifest}, "both name a request"},
		{[]string{"--again", "a"}, `no run "a" in this catalog`},
		{[]string{"--again", "a", "--id", "b"}, "leave --id out"},
		{[]string{"-f", filepath.Join(dir, "none.yaml")}, "does not exist"},
		{[]string{"-f", dir}, fmt.Sprintf("manifest: %q is a directory", dir)},
		{[]string{"-f", filepath.Join(manifest, "below")}, fmt.Sprintf("manifest %q: not a directory", filepath.Join(manifest, "below"))},
		{[]string{"-f", broken}, `broken.yaml:2: `},
		{[]string{"-f", broken}, `"memory"`},
	}
	for _, test := range tests {
		k := parserOf(t, dir, nil, test.args...)
		_, err := k.Analysis(t.Context(), noFind)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.60q: %v, want %q in it", test.args, err, test.want)
		}
	}
}

func TestRefusedRequestKeepsItsID(t *testing.T) {
	a, err := parserOf(t, t.TempDir(), nil, "--id", "known", "--memory", "x", "cmd").Analysis(t.Context(), noFind)
	if err == nil || a.ID != "known" {
		t.Errorf("id %q, error %v", a.ID, err)
	}
}

func TestManifestFromStandardInput(t *testing.T) {
	dir := t.TempDir()
	k := parserOf(t, dir, nil, "-f", "-")
	k.stdin = strings.NewReader("script: s.py\n")
	a, err := k.Analysis(t.Context(), noFind)
	if err != nil || a.Script != filepath.Join(dir, "s.py") {
		t.Errorf("script %q, %v", a.Script, err)
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

// What a flag or its variable gives is named by that, what a manifest gives by its key.
func TestRefusedValuesAreNamed(t *testing.T) {
	dir := t.TempDir()
	manifest := write(t, filepath.Join(dir, "m.yaml"), "command: [a]\nlog_size: 1\n")
	tests := []struct {
		env  map[string]string
		args []string
		want string
	}{
		{nil, []string{"--log-size", "1", "x"}, "--log-size 1B is out of bounds"},
		{map[string]string{"SCIDEX_OCI_LOG_SIZE": "1"}, []string{"x"}, "SCIDEX_OCI_LOG_SIZE 1B is out of bounds"},
		{nil, []string{"-f", manifest}, "log_size 1B is out of bounds"},
		{nil, []string{"--limits", "enforced", "x"}, `--limits "enforced" is not known`},
		{nil, []string{"--output", "/x", "x"}, `--output pattern "/x" must be relative`},
		{nil, []string{"--input", "https://h/x", "x"}, `--input "https://h/x" is a URL`},
	}
	for _, test := range tests {
		k := parserOf(t, dir, test.env, test.args...)
		a, err := k.Analysis(t.Context(), noFind)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Validate(a); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.args, err, test.want)
		}
	}
}

// lookupIn makes an environment.
func lookupIn(values map[string]string) options.Lookup {
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

func TestMissingDirectoryOfConfig(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("data: nodata\ndocs: none\nstage: .\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	analysis := func(args ...string) string {
		_, err := parserOf(t, dir, nil, append([]string{"--config", "config.yaml"}, args...)...).Analysis(t.Context(), noFind)
		if err == nil {
			return ""
		}
		return err.Error()
	}
	if got := analysis("true"); !strings.HasPrefix(got, `data in config file "`+dir+`/config.yaml": "`+dir+`/nodata" does not exist`) {
		t.Errorf("not refused for the config file: %s", got)
	}
	for _, data := range []string{"none", ".", "absent"} {
		if got := analysis("--data", data, "true"); got != "" {
			t.Errorf("--data %s: %s", data, got)
		}
	}
}

func TestGivenTwice(t *testing.T) {
	dir := t.TempDir()
	tests := map[string]string{
		"--data a --data b -- true":                      "--data is given twice (a, b): give one directory, and single files with --input FILE",
		"--script a.py --script b.py":                    `--script is given twice (a.py, b.py): give one; "scidex-oci batch" runs several`,
		"--export a --export b -- true":                  "--export is given twice (a, b): give one directory",
		"--rootfs a --rootfs b -- true":                  "--rootfs is given twice (a, b): give one of them",
		"--data a --data a --memory 1g --memory 2g true": "",
	}
	for line, want := range tests {
		_, err := parserOf(t, dir, nil, strings.Fields(line)...).Analysis(t.Context(), noFind)
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}
