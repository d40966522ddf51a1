package spec

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestValidateID(t *testing.T) {
	for _, id := range []string{"a", "0", "A.b_c-d", "a..b", "20261121T010203-1a2b3c4d", strings.Repeat("x", 128)} {
		if err := ValidateID(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{
		"", ".", "..", "a/b", "/", "-rf", "_a", ".hidden", "a b", "a\x00b", "a\n", "\na", "a@1", "ä", "\x1b[31m", strings.Repeat("x", 129), strings.Repeat("x", 300),
	} {
		err := ValidateID(id)
		if err == nil {
			t.Errorf("%q: no error", id)
			continue
		}
		if msg := err.Error(); strings.ContainsAny(msg, "\n\x00\x1b") || len(msg) > 300 || !strings.Contains(msg, "begin with a letter or digit") {
			t.Errorf("%q: %q is not one short sentence with the way out", id, msg)
		}
	}
}

// valid is an analysis to which each case of TestValidateRefuses makes one change.
func valid() Analysis {
	return Analysis{ID: "x", Script: "a.py", Env: map[string]string{"A": "1"}, Inputs: []string{"m:/models/m"}}
}

func TestValidate(t *testing.T) {
	for name, change := range map[string]func(*Analysis){
		"as it is": func(*Analysis) {},
		"no id":    func(a *Analysis) { a.ID = "" },
		"defaults": func(a *Analysis) { *a = a.WithDefaults() },
		"command":  func(a *Analysis) { a.Script, a.Command = "", []string{"true", ""} },
		"least": func(a *Analysis) {
			a.Memory, a.CPUs, a.Pids, a.Timeout = 4*MiB, 0.01, 2, Duration(100*time.Millisecond)
		},
		"most":            func(a *Analysis) { a.Memory, a.CPUs, a.Pids, a.Timeout = PiB, 4096, 4194304, Duration(720*time.Hour) },
		"globs":           func(a *Analysis) { a.Outputs = []string{"*", "a/**/{b,c}[0-9].csv", "a..b"} },
		"label":           func(a *Analysis) { a.Labels = map[string]string{"org/key": strings.Repeat("ä", 128)} },
		"other variables": func(a *Analysis) { a.Env = map[string]string{"_x": "a\nb", "PATH": "/usr/bin", "SCIDEX_OTHER": ""} },
		"inputs beside":   func(a *Analysis) { a.Inputs = []string{"a:/inputs/a", "b:/inputs/a-b", "c:/inputs/ab"} },
		"longest word":    func(a *Analysis) { a.Args = []string{strings.Repeat("x", 131071)} },
	} {
		a := valid()
		change(&a)
		if err := a.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Analysis)
		want   string
	}{
		{"id", func(a *Analysis) { a.ID = ".." }, `id ".." is not allowed`},
		{"nothing to run", func(a *Analysis) { a.Script = "" }, "there is nothing to run: give a command or a script"},
		{"empty command", func(a *Analysis) { a.Script, a.Command = "", []string{} }, "there is nothing to run"},
		{"both", func(a *Analysis) { a.Command = []string{"true"} }, `both a command ("true") and a script ("a.py")`},
		{"empty word", func(a *Analysis) { a.Script, a.Command = "", []string{"", "a"} }, "first word is empty"},
		{"args", func(a *Analysis) { a.Script, a.Command, a.Args = "", []string{"true"}, []string{"-x"} }, `args ("-x") belong to a script`},
		{"NUL in command", func(a *Analysis) { a.Script, a.Command = "", []string{"a\x00"} }, `argument "a\x00" has a NUL byte`},
		{"args of a notebook", func(a *Analysis) { a.Script, a.Command, a.Args = "a.ipynb", nil, []string{"-x"} }, `takes no argument ("-x")`},
		{"NUL in args", func(a *Analysis) { a.Args = []string{"\x00"} }, "NUL"},
		{"NUL in script", func(a *Analysis) { a.Script = "a\x00" }, `script "a\x00" has a NUL byte`},
		{"NUL in data", func(a *Analysis) { a.Data = "a\x00" }, "data"},
		{"NUL in docs", func(a *Analysis) { a.Docs = "a\x00" }, "docs"},
		{"NUL in project", func(a *Analysis) { a.Project = "a\x00" }, "project"},
		{"NUL in stage", func(a *Analysis) { a.Stage = "a\x00" }, "stage"},
		{"NUL in export", func(a *Analysis) { a.Export = "a\x00" }, "export"},
		{"NUL in input", func(a *Analysis) { a.Inputs = []string{"a\x00"} }, "input"},
		{"NUL in env", func(a *Analysis) { a.Env["B"] = "\x00" }, `env B: "\x00" has a NUL byte`},
		{"NUL in output", func(a *Analysis) { a.Outputs = []string{"\x00"} }, "output"},
		{"not UTF-8", func(a *Analysis) { a.Args = []string{"\xff"} }, `argument "\xff" is not UTF-8`},
		{"long word", func(a *Analysis) { a.Args = []string{strings.Repeat("x", 131072)} }, "longer than the 131071 bytes the kernel takes"},
		{"long variable", func(a *Analysis) { a.Env["B"] = strings.Repeat("x", 131070) }, "longer than the 131071 bytes the kernel takes"},
		{"env name", func(a *Analysis) { a.Env["1A"] = "" }, `env name "1A" is not allowed`},
		{"empty env name", func(a *Analysis) { a.Env[""] = "" }, `env name "" is not allowed`},
		{"env name with =", func(a *Analysis) { a.Env["A=B"] = "" }, `env name "A=B" is not allowed`},
		{"env name with newline", func(a *Analysis) { a.Env["A\n"] = "" }, `env name "A\n" is not allowed`},
		{"reserved id", func(a *Analysis) { a.Env["SCIDEX_ANALYSIS_ID"] = "" }, `env name "SCIDEX_ANALYSIS_ID" is set by scidex-oci itself`},
		{"reserved data", func(a *Analysis) { a.Env["SCIDEX_DATA_DIR"] = "" }, "SCIDEX_DATA_DIR"},
		{"reserved docs", func(a *Analysis) { a.Env["SCIDEX_DOCS_DIR"] = "" }, "SCIDEX_DOCS_DIR"},
		{"reserved work", func(a *Analysis) { a.Env["SCIDEX_WORK_DIR"] = "" }, "SCIDEX_WORK_DIR"},
		{"reserved secret", func(a *Analysis) { a.Secrets = []string{"SCIDEX_WORK_DIR"} }, `secret name "SCIDEX_WORK_DIR"`},
		{"secret name", func(a *Analysis) { a.Secrets = []string{"K=V"} }, `secret "K" is given with a value: give the name only`},
		{"secret in env", func(a *Analysis) { a.Secrets = []string{"A"} }, `"A" is both in env and in secrets`},
		{"label name", func(a *Analysis) { a.Labels = map[string]string{"-x": ""} }, `label name "-x" is not allowed`},
		{"long label name", func(a *Analysis) { a.Labels = map[string]string{strings.Repeat("x", 64): ""} }, "label name"},
		{"long label", func(a *Analysis) { a.Labels = map[string]string{"x": strings.Repeat("x", 257)} }, "longer than 256 bytes"},
		{"label with escape", func(a *Analysis) { a.Labels = map[string]string{"x": "\x1b"} }, `label x: "\x1b" has a control character`},
		{"limits", func(a *Analysis) { a.Limits = "enforced" }, `limits "enforced" is not known, it must be enforce or outer or best-effort; did you mean "enforce"?`},
		{"preload", func(a *Analysis) { a.Preload = "numpy, os" }, `" os" is no module: give auto, none or modules such as numpy,pandas`},
		{"keep", func(a *Analysis) { a.Keep = "allways" }, `it must be never or failed or always; did you mean "always"?`},
		{"ids", func(a *Analysis) { a.IDs = "root" }, `ids "root" is not known, it must be range or self`},
		{"relative workdir", func(a *Analysis) { a.Workdir = "job" }, `workdir "job" is no absolute path inside: write a fresh one such as /job`},
		{"workdir with ..", func(a *Analysis) { a.Workdir = "/proc/../x" }, `workdir "/proc/../x" is not in its simplest form: write "/x"`},
		{"workdir up", func(a *Analysis) { a.Workdir = "/job/.." }, `workdir "/job/.." is not in its simplest form: write "/"`},
		{"workdir with a slash", func(a *Analysis) { a.Workdir = "/job/" }, `workdir "/job/" is not in its simplest form: write "/job"`},
		{"all as workdir", func(a *Analysis) { a.Workdir = "/" }, `workdir "/" would hide others: choose a fresh one such as /job`},
		{"workdir over inputs", func(a *Analysis) { a.Workdir = "/inputs" }, `workdir "/inputs" would hide others`},
		{"workdir over /tmp", func(a *Analysis) { a.Workdir = "/var" }, `workdir "/var" would hide /var/lock, which has its own use`},
		{"workdir in /usr", func(a *Analysis) { a.Workdir = "/usr/job" }, `workdir "/usr/job" lies in /usr, which has its own use`},
		{"workdir in work", func(a *Analysis) { a.Workdir = "/work/job" }, `workdir "/work/job" lies in /work, which has its own use`},
		{"workdir with escape", func(a *Analysis) { a.Workdir = "/\x1bjob" }, `has a control character`},
		{"workdir with NUL", func(a *Analysis) { a.Workdir = "/a\x00b" }, `workdir "/a\x00b" has a NUL byte`},
		{"workdir in an input", func(a *Analysis) { a.Workdir, a.Inputs = "/models/job", []string{"m:/models"} }, `workdir "/models/job" and input "m" at "/models" would hide each other: choose a fresh one such as /job`},
		{"workdir around an input", func(a *Analysis) { a.Workdir, a.Inputs = "/srv", []string{"m:/srv/models"} }, `workdir "/srv" and input "m" at "/srv/models" would hide each other`},
		{"workdir on an input", func(a *Analysis) { a.Workdir, a.Inputs = "/srv", []string{"m:/srv"} }, `workdir "/srv" and input "m" at "/srv" would hide each other`},
		{"rootfs", func(a *Analysis) { a.Rootfs = "a b" }, `rootfs "a b" is neither host, nor the name of an image, nor a directory`},
		{"little memory", func(a *Analysis) { a.Memory = 4*MiB - 1 }, "memory 4194303B is out of bounds: it must be at least 4MiB and at most 1PiB"},
		{"much memory", func(a *Analysis) { a.Memory = PiB + 1 }, "memory"},
		{"negative memory", func(a *Analysis) { a.Memory = -GiB }, "memory -1GiB is out of bounds"},
		{"work_size", func(a *Analysis) { a.WorkSize = MiB - 1 }, "work_size 1048575B is out of bounds"},
		{"work_files", func(a *Analysis) { a.WorkFiles = -1 }, "work_files -1 is no number of files"},
		{"work_storage", func(a *Analysis) { a.WorkStorage = "tmpf" }, `work_storage "tmpf" is not known, it must be disk or tmpfs; did you mean "tmpfs"?`},
		{"digest_inputs", func(a *Analysis) { a.DigestInputs = "ful" }, `digest_inputs "ful" is not known, it must be script or listing or full; did you mean "full"?`},
		{"log_size", func(a *Analysis) { a.LogSize = 1 }, "log_size 1B is out of bounds"},
		{"few cpus", func(a *Analysis) { a.CPUs = 0.001 }, "cpus 0.001 is no number of cores"},
		{"many cpus", func(a *Analysis) { a.CPUs = 5000 }, "cpus 5000 is no number of cores"},
		{"negative cpus", func(a *Analysis) { a.CPUs = -1 }, "cpus -1"},
		{"cpus NaN", func(a *Analysis) { a.CPUs = math.NaN() }, "cpus NaN"},
		{"cpus Inf", func(a *Analysis) { a.CPUs = math.Inf(1) }, "cpus +Inf"},
		{"one process", func(a *Analysis) { a.Pids = 1 }, "pids 1 is no number of processes: it must be at least 2 (the container's init takes one"},
		{"negative pids", func(a *Analysis) { a.Pids = -1 }, "pids -1"},
		{"many pids", func(a *Analysis) { a.Pids = 4194305 }, "pids 4194305"},
		{"short timeout", func(a *Analysis) { a.Timeout = Duration(time.Millisecond) }, "timeout 1ms is out of bounds: it must be at least 100ms and at most 720h"},
		{"long timeout", func(a *Analysis) { a.Timeout = Duration(721 * time.Hour) }, "timeout 721h is out of bounds"},
		{"negative timeout", func(a *Analysis) { a.Timeout = -1 }, "timeout -1ns is out of bounds"},
		{"memory without a unit", func(a *Analysis) { a.Memory = 2 }, "memory 2B is out of bounds: it must be at least 4MiB and at most 1PiB; did you mean 2GiB?"},
		{"memory in MiB without a unit", func(a *Analysis) { a.Memory = 512 }, "; did you mean 512MiB?"},
		{"URL of a script", func(a *Analysis) { a.Script = "https://h/a.py" }, `script "https://h/a.py" is a URL, and a run fetches nothing: download it first (curl -O 'https://h/a.py'), and give the file`},
		{"URL of data", func(a *Analysis) { a.Data = "s3://b/d" }, `data "s3://b/d" is a URL, and a run fetches nothing: download it first, and give the directory`},
		{"long grace", func(a *Analysis) { a.Grace = Duration(2 * time.Hour) }, "grace 2h is out of bounds"},
		{"absolute output", func(a *Analysis) { a.Outputs = []string{"/work/a"} }, `output pattern "/work/a" must be relative to /work`},
		{"output above", func(a *Analysis) { a.Outputs = []string{"a/../../b"} }, "leave out empty names, '.' and '..'"},
		{"output with dot", func(a *Analysis) { a.Outputs = []string{"./a"} }, `output pattern "./a" can match nothing`},
		{"empty output", func(a *Analysis) { a.Outputs = []string{""} }, `output pattern "" is empty`},
		{"malformed output", func(a *Analysis) { a.Outputs = []string{"a[b"} }, `output pattern "a[b" is malformed`},
		{"malformed exclude", func(a *Analysis) { a.Exclude = []string{"{a,b"} }, `exclude pattern "{a,b" is malformed`},
		{"same destination", func(a *Analysis) { a.Inputs = []string{"a/x", "b/x"} }, `inputs "a/x" and "b/x" share the destination "/inputs/x"`},
		{"nested destination", func(a *Analysis) { a.Inputs = []string{"c:/m/a/b", "b:/m/a-b", "a:/m/a"} }, `inputs "a" and "c" share the destination "/m/a"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := valid()
			c.change(&a)
			err := a.Validate()
			if err == nil {
				t.Fatal("no error")
			}
			if msg := err.Error(); !strings.Contains(msg, c.want) || strings.ContainsAny(msg, "\n\x00\x1b") || len(msg) > 400 {
				t.Errorf("got  %q\nwant %q", msg, c.want)
			}
		})
	}
}

func TestParseInput(t *testing.T) {
	for text, want := range map[string]Input{
		"a.csv":                {"a.csv", "/inputs/a.csv"},
		"/x/models/":           {"/x/models/", "/inputs/models"},
		"m:/models":            {"m", "/models"},
		"m:/models/deep/er":    {"m", "/models/deep/er"},
		"a:b":                  {"a:b", "/inputs/a:b"},
		"a:b:/inputs/c":        {"a:b", "/inputs/c"},
		"/x:/y:/inputs/z":      {"/x:/y", "/inputs/z"},
		"m:/inputs/m":          {"m", "/inputs/m"},
		"m:/worker":            {"m", "/worker"},
		"m:/opt/data":          {"m", "/opt/data"},
		".:/inputs/here":       {".", "/inputs/here"},
		"x:y:/inputs/x:":       {"x:y", "/inputs/x:"},
		"a b:/inputs/c d":      {"a b", "/inputs/c d"},
		"../x":                 {"../x", "/inputs/x"},
		"..x:/inputs/..weird.": {"..x", "/inputs/..weird."},
	} {
		got, err := ParseInput(text)
		if err != nil || got != want {
			t.Errorf("%q = %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                "names no source",
		":/inputs/x":      "names no source",
		"a:":              "empty destination",
		".":               "has no name of its own: write .:/inputs/NAME",
		"..":              "has no name of its own",
		"/":               "has no name of its own",
		"a:/":             "would hide others",
		"a:/inputs":       "would hide others",
		"a:/inputs/":      `simplest form: write "/inputs"`,
		"a:/inputs/../x":  `simplest form: write "/x"`,
		"a:/models/./x":   "simplest form",
		"a://models":      "simplest form",
		"a:/inputs/\x1bx": "control character",
		"a\x00:/inputs/x": "NUL byte",
		"\xff:/inputs/x":  "not UTF-8",
		"a:/inputs/x:ro":  `docker's :ro: write "/inputs/x"; inputs are always read-only`,
		"https://h/a.csv": "(curl -O 'https://h/a.csv'), and give the file",
		"https://h/a:/m":  "(curl -O 'https://h/a'), and give the file",
		"https://h/a?b&c": "(curl -O 'https://h/a?b&c'), and give the file",
		"https://h/it's":  "download it first, and give the file",
		"ssh://h/a.csv":   "download it first, and give the file",
	} {
		if got, err := ParseInput(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q = %v, %v; want %q", text, got, err, want)
		}
	}
	for _, dir := range []string{
		"/work", "/proc", "/dev", "/sys", "/usr", "/etc", "/tmp", "/home", "/data", "/docs", "/analysis", "/bin", "/sbin", "/lib",
		"/lib32", "/lib64", "/libx32", "/var/lock", "/var/run", "/var/tmp", "/run", "/root",
	} {
		for _, destination := range []string{dir, dir + "/x"} {
			if got, err := ParseInput("a:" + destination); err == nil || !strings.Contains(err.Error(), "lies in "+dir+", which") {
				t.Errorf("%s = %v, %v; want it refused", destination, got, err)
			}
		}
	}
}

// TestInputBelowVar: workflow engines bind inputs there. An input at /var itself would hide directories that have their own use.
func TestInputBelowVar(t *testing.T) {
	for _, destination := range []string{"/var/lib/cwl/stg1f3/file.txt", "/var/spool/cwl", "/var/lib", "/variable", "/var/temporary"} {
		if got, err := ParseInput("a:" + destination); err != nil || got.Destination != destination {
			t.Errorf("%s: %v, %v", destination, got, err)
		}
	}
	if _, err := ParseInput("a:/var"); err == nil || !strings.Contains(err.Error(), `destination "/var" would hide /var/lock, which has its own use: choose one below /inputs`) {
		t.Error(err)
	}
}

func FuzzParseInput(f *testing.F) {
	for _, seed := range []string{"a", "a:/models", "a:b:/inputs/c", ":/x", ".", "/", "a:/work/x", "a:/inputs/../work", "sha256:" + strings.Repeat("0", 64), "s3://b/sha256/" + strings.Repeat("a", 64) + ":x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		input, err := ParseInput(text)
		if err != nil {
			return
		}
		again, err := ParseInput(input.String())
		if err != nil || again != input {
			t.Fatalf("%q = %v, read again as %v, %v", text, input, again, err)
		}
		top, _, below := strings.Cut(strings.TrimPrefix(input.Destination, "/"), "/")
		if !strings.HasPrefix(input.Destination, "/") || strings.Contains(input.Destination+"/", "/../") || top == "" ||
			top == "work" || top == "usr" || top == "proc" || top == "dev" || top == "inputs" && !below {
			t.Fatalf("%q has destination %q", text, input.Destination)
		}
	})
}

func TestResolvePaths(t *testing.T) {
	a := Analysis{
		Script: "a.py", Data: "none", Docs: "../docs", Stage: "https://h/x", Project: "./src/", Export: "/out/./x",
		Inputs: []string{"m", "t:/models", "/abs/n", ".", "a:b", "bad:", ""},
	}
	want := Analysis{
		Script: "/h/x:/a.py", Data: "none", Docs: "/h/docs", Stage: "https://h/x", Project: "/h/x:/src", Export: "/out/x",
		Inputs: []string{"/h/x:/m:/inputs/m", "/h/x:/t:/models", "/abs/n:/inputs/n", "/h/x::/inputs/x:", "/h/x:/a:b:/inputs/a:b", "bad:", ""},
	}
	before := a.Inputs[0]
	got := a.ResolvePaths("/h/x:")
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if a.Inputs[0] != before {
		t.Error("ResolvePaths changed its receiver's inputs")
	}
	if again := got.ResolvePaths("/other"); !reflect.DeepEqual(again, got) {
		t.Errorf("a second time: %+v\nwant %+v", again, got)
	}
	if empty := (Analysis{}).ResolvePaths("/h"); !reflect.DeepEqual(empty, Analysis{}) {
		t.Errorf("an empty analysis became %+v", empty)
	}
}

func TestWithDefaults(t *testing.T) {
	want := Analysis{
		Memory: 2 * GiB, CPUs: 1, Pids: 100, Timeout: Duration(30 * time.Minute), Grace: Duration(5 * time.Second), LogSize: 16 * MiB,
		WorkSize: GiB, WorkFiles: 100_000, WorkStorage: WorkDisk,
		Limits: "enforce", DigestInputs: "listing", Keep: "never", Rootfs: "host", Exclude: []string{"__pycache__", "*.pyc"},
	}
	if got := (Analysis{}).WithDefaults(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	asked := everyField()
	if got := asked.WithDefaults(); !reflect.DeepEqual(got, asked) {
		t.Errorf("what was asked for changed: %+v", got)
	}
}

func TestNewID(t *testing.T) {
	zone := time.FixedZone("east", 3600)
	id := NewID(time.Date(2026, 11, 21, 2, 2, 3, 999, zone), [4]byte{0x1a, 0x2b, 0x3c, 0x4d})
	if id != "20261121T010203-1a2b3c4d" {
		t.Error(id)
	}
	if err := ValidateID(id); err != nil {
		t.Error(err)
	}
	if later := NewID(time.Date(2026, 11, 21, 1, 2, 4, 0, time.UTC), [4]byte{}); later <= id {
		t.Errorf("%s does not sort after %s", later, id)
	}
}

func TestFirstLine(t *testing.T) {
	for text, want := range map[string]string{
		"#!/bin/sh\nrest": "#!/bin/sh", "": "", "no newline": "no newline", strings.Repeat("x", 300): strings.Repeat("x", 256),
	} {
		if got, err := FirstLine(strings.NewReader(text)); err != nil || got != want {
			t.Errorf("the first line of %.20q is %.20q (%v)", text, got, err)
		}
	}
}

func TestInterpreter(t *testing.T) {
	for _, c := range []struct {
		script, line string
		want         []string
	}{
		{"a.py", "import os", []string{"python3"}},
		{"a.R", "", []string{"Rscript"}},
		{"a.r", "", []string{"Rscript"}},
		{"a.jl", "", []string{"julia"}},
		{"x/a.sh", "# !", []string{"sh"}},
		{"a", "#!/bin/sh", []string{"/bin/sh"}},
		{"a.py", "#! /usr/bin/env  python3 -u ", []string{"/usr/bin/env", "python3 -u"}},
		{"a", "#!\t/usr/bin/perl\t-w", []string{"/usr/bin/perl", "-w"}},
		{"a.ipynb", "{", []string{"python3", "-c", notebook}},
		{"a.ipynb", "#!/bin/sh", []string{"/bin/sh"}},
	} {
		if got, err := Interpreter(c.script, c.line); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, %q = %q, %v; want %q", c.script, c.line, got, err, c.want)
		}
	}
	for _, c := range []struct{ script, line, want string }{
		{"a", "print(1)", "nothing says what runs it"},
		{"a.txt", "", "nothing says what runs it: give it a first line such as #!/usr/bin/env python3,"},
		{"a.pl", "", "a first line such as #!/usr/bin/env perl,"},
		{"a.js", "", "a first line such as #!/usr/bin/env node,"},
		{"a.rb", "#!ruby", "write for instance #!/usr/bin/env ruby"},
		{"a", "#!", "names no interpreter by an absolute path"},
		{"a.py", "#!python3", "names no interpreter by an absolute path"},
		{"a.py", "#!/usr/bin/env python3\r", "Windows"},
		{"a.py", "#!/bin/\x00sh", "names no interpreter"},
	} {
		got, err := Interpreter(c.script, c.line)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %q = %q, %v; want %q", c.script, c.line, got, err, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"memory", "data", "docs", "command", "inputs"}
	for word, want := range map[string]string{
		"memry": "memory", "mermory": "memory", "MEMORY": "memory", "meomry": "memory", "dat": "data", "doc": "docs", "comand": "command", "input": "inputs",
		"xyz": "", "network": "", "": "", strings.Repeat("m", 1000): "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q; want %q", word, got, want)
		}
	}
}
