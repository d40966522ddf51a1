package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

type hint struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// hintOf is the sentence of a code, "" without one.
func (r result) hintOf(code string) string {
	for _, h := range r.Hints {
		if h.Code == code {
			return h.Message
		}
	}
	return ""
}

// TestHints brings about each situation, and reads its hint from the JSON and from the table.
func TestHints(t *testing.T) {
	h := newHarness(t)
	h.setenv("VIRTUAL_ENV", "/home/ada/env")
	data := h.path("measured")
	h.write("measured/deep/a.csv", "1\n", 0o644)
	h.write("helper.py", "", 0o644)
	h.write("fit.py", "import helper\n", 0o644)
	h.write("write.py", "open('results/x.csv', 'w')\n", 0o644)
	h.write("argv.py", "import sys\nprint(sys.argv[1])\n", 0o644)
	h.write("bash.sh", "if [[ 1 == 1 ]]; then echo yes; fi\n", 0o644)
	h.write("argv2.py", "import sys\nprint(sys.argv[2])\n", 0o644)
	h.write("here.csv", "1\n", 0o644)
	h.write("runtime/bin/python3", "#!/bin/sh\nexec /usr/bin/python3 -S \"$@\"\n", 0o755) // without installed packages
	h.write("n.ipynb", `{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`, 0o644)
	for name, c := range map[string]struct {
		args  []string
		code  string
		parts []string
	}{
		"name resolution": {python("import urllib.request as u; u.urlopen('http://example.org')"), "no_network", []string{"no network", "--data", "--input"}},
		"connection":      {python("import socket; socket.create_connection(('127.0.0.1', 9))"), "no_network", []string{"no network"}},
		"module":          {python("import nosuchmodule"), "module_missing", []string{`"nosuchmodule"`, "--runtime /home/ada/env"}},
		"memory":          {append([]string{"--limits=best-effort", "--memory=256MiB"}, python("bytearray(1 << 30)")...), "memory_limit", []string{"under best effort", "256MiB", "--memory"}},
		"threads": {
			append([]string{"--limits=best-effort", "--pids=20"}, python("import threading, time\nfor _ in range(100): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()")...),
			"pids_limit",
			[]string{"under best effort", "20", "--pids"},
		},
		"files left":     {[]string{"--", "sh", "-c", "echo x >/tmp/plot.png; echo y >$HOME/fit.csv"}, "files_lost", []string{"/home/analysis/fit.csv, /tmp/plot.png", "only what is written to /work"}},
		"path inside":    {append([]string{"--data", data}, python("open('"+data+"/deep/a.csv')")...), "path_inside", []string{"/data/deep/a.csv inside"}},
		"no data":        {python("open('/data/a.csv')"), "no_data", []string{"this run has no /data", "--data DIR"}},
		"no such file":   {append([]string{"--data", data}, python("open('/data/nope.csv')")...), "no_such_file", []string{"on the host, which has deep, but no nope.csv"}},
		"log":            {[]string{"--log-size=4KiB", "--", "seq", "10000"}, "log_truncated", []string{"first 4KiB of", "--log-size"}},
		"above host":     {[]string{"--cpus=4096", "--", "true"}, "above_host", []string{"--cpus 4096", "this host has"}},
		"directory":      {[]string{"--script", h.path("write.py")}, "no_such_file", []string{"no results/x.csv in /work, which is empty", `os.makedirs("results"`}},
		"redirection":    {[]string{"--", "sh", "-c", "echo >results/x"}, "no_directory", []string{"mkdir -p results"}},
		"arguments":      {[]string{"--script", h.path("argv.py")}, "arguments_missing", []string{"the script got no arguments", "after --"}},
		"display":        {python("raise OSError('no display name and no $DISPLAY environment variable')"), "no_display", []string{"no display"}},
		"shown":          {[]string{"--", "sh", "-c", "echo FigureCanvasAgg is non-interactive, and thus cannot be shown >&2"}, "no_display", []string{`savefig("name.png")`}},
		"sudo":           {[]string{"--", "sh", "-c", "sudo true"}, "no_privileges", []string{"cannot gain privileges: leave out sudo"}},
		"sudo completes": {[]string{"--", "sh", "-c", "sudo true; echo done"}, "no_privileges", []string{"cannot gain privileges"}},
		"pool": {
			// The timeout only ends it: a shell has printed the reason long before.
			[]string{"--limits=best-effort", "--pids=20", "--timeout=20s", "--", "sh", "-c", "echo 'BlockingIOError: [Errno 11] Resource temporarily unavailable' >&2; exec sleep 600"},
			"pids_limit",
			[]string{"20 processes", "--pids"},
		},
		"pip":          {[]string{"--", "sh", "-c", "echo ERROR: No matching distribution found for x >&2; exit 1"}, "no_privileges", []string{"install packages"}},
		"program":      {[]string{"--", "nosuchprogram"}, "program_missing", []string{"no program nosuchprogram", "--runtime"}},
		"interpreter":  {[]string{"--", "sh", "-c", "nosuchprogram"}, "program_missing", []string{"no program nosuchprogram"}},
		"bash":         {[]string{"--script", h.path("bash.sh")}, "bash_needed", []string{"the script is run by sh, and uses bash", "#!/bin/bash in its first line"}},
		"subprocess":   {python("import subprocess; subprocess.run(['nosuchprogram'])"), "program_missing", []string{"neither a program nor a directory nosuchprogram"}},
		"GPU":          {[]string{"--", "sh", "-c", "echo sh: 1: nvidia-smi: not found >&2; exit 1"}, "no_gpu", []string{"no GPU"}},
		"more":         {[]string{"--script", h.path("argv2.py"), "--", "one"}, "arguments_missing", []string{"got only the argument one, and wants more"}},
		"chdir":        {python("import os; os.chdir('/home/ada')"), "no_such_file", []string{"no /home/ada in the container", "/work"}},
		"cd":           {[]string{"--", "sh", "-c", "cd /home/ada"}, "changes_directory", []string{"no directory /home/ada"}},
		"export":       {[]string{"--export", h.path("exported"), "--", "echo", "done"}, "nothing_exported", []string{"left nothing to export in /work", "only scidex-result.json"}},
		"output":       {[]string{"--output=out.csv", "--", "sh", "-c", "echo >other.csv"}, "output_missing", []string{"wrote other.csv"}},
		"notebook":     {[]string{"--runtime", h.path("runtime"), "--script", h.path("n.ipynb")}, "notebook_packages", []string{h.path("runtime") + "/bin/pip install nbclient nbformat ipykernel"}},
		"no input":     {python("input()"), "no_input", []string{"standard input", "terminal"}},
		"beside":       {[]string{"--script", h.path("fit.py")}, "module_missing", []string{"helper.py is beside the script", "--project " + h.dir}},
		"one word":     {[]string{"--", "python3 fit.py"}, "program_missing", []string{"-- sh -c 'python3 fit.py'"}},
		"read-only":    {append([]string{"--data", data}, python("open('/data/b.csv', 'w')")...), "read_only", []string{"/data/b.csv cannot be written", "/work"}},
		"local file":   {[]string{"--", "cat", "here.csv"}, "local_file", []string{"--input here.csv"}},
		"time":         {[]string{"--timeout=1s", "--", "sleep", "60"}, "time_limit", []string{"1s", "--timeout"}},
		"one file":     {append([]string{"--work-size=1MiB"}, python("open('/tmp/x', 'wb').write(bytes(4 << 20))")...), "work_limit", []string{"one file may hold 1MiB, also in /tmp", "--work-size SIZE"}},
		"working area": {[]string{"--work-size=1MiB", "--", "sh", "-c", "head -c 4M /dev/zero >x; sleep 60"}, "work_limit", []string{"1MiB", "--work-size"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			id := h.id(strings.ReplaceAll(name, " ", "-"))
			r := h.start(append([]string{"--id", id}, c.args...)...)
			table := h.mustRun("show", id).stdout
			got := r.hintOf(c.code)
			for _, part := range c.parts {
				if !strings.Contains(got, part) {
					t.Errorf("hint %q lacks %q; all: %q, message %q", got, part, r.Hints, r.Message)
				}
			}
			if !strings.Contains(table, "hint ") || !strings.Contains(table, got) {
				t.Errorf("the table lacks %q:\n%s", got, table)
			}
		})
	}
}

// TestAdviceOfHints does what each hint says: after that the failure is gone.
func TestAdviceOfHints(t *testing.T) {
	h := newHarness(t)
	const readme = "open('lengths.csv', 'w').write(str(len(open('/data/all.txt').read())))\n"
	h.write("lengths.py", readme, 0o644)
	h.write("argv.py", "import sys\nprint(sys.argv[1])\n", 0o644)
	h.write("bash.sh", "[[ 1 == 1 ]] || exit 1\n", 0o644)
	h.write("array.sh", "both=(1 2)\n", 0o644)
	h.write("d/all.txt", "abc\n", 0o644)
	h.write("d/Own.pm", "1;\n", 0o644)
	h.write("d/config.json", "{}\n", 0o644)
	h.write("d/sub/deep.csv", "1\n", 0o644)
	h.write("store/sub/o.txt", "outside\n", 0o644)
	h.write("crlf.sh", "#!/bin/sh\r\n", 0o755)
	h.write("env.py", "#!/usr/bin/env python3\r\n", 0o755)
	h.write("none.sh", "#!/opt/none/sh\n", 0o755)
	h.write("tools/plain.sh", "#!/bin/sh\n", 0o644)
	h.write("private/a.csv", "1\n", 0o600)
	h.write("private2/a.csv", "1\n", 0o600)
	h.write("links/.annex/k", "annexed\n", 0o644)
	for name, target := range map[string]string{
		"rel": "../store/sub/o.txt", "abs": h.path("store/sub/o.txt"), "dir": h.path("store/sub"), "own": h.path("links/.annex/k"), "none": "nowhere",
	} {
		if err := os.Symlink(target, h.path("links/"+name)); err != nil {
			t.Fatal(err)
		}
	}
	sh := func(command string) func() error {
		return func() error {
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir = h.dir
			return cmd.Run()
		}
	}
	words := func(flags string, command ...string) []string {
		return append(append(strings.Fields(flags), "--"), command...)
	}
	for name, c := range map[string]struct {
		args    []string
		hint    string       // part of it
		change  func() error // on the host
		advised []string     // nil: args
	}{
		"README":           {[]string{"--script", "lengths.py"}, "this run has no /data: pass a directory with --data DIR", nil, []string{"--data", "d", "--script", "lengths.py"}},
		"data to write":    {words("", "python3", "-c", "open('data/x', 'w')"), `os.makedirs("data", exist_ok=True)`, nil, words("", "python3", "-c", "import os; os.makedirs('data', exist_ok=True); open('data/x', 'w')")},
		"written":          {words("", "python3", "-c", "open('results/x', 'w')"), `to write it, first create its directory, with os.makedirs("results", exist_ok=True)`, nil, words("", "python3", "-c", "import os; os.makedirs('results', exist_ok=True); open('results/x', 'w')")},
		"redirected":       {words("", "bash", "-c", "echo >results/x"), "mkdir -p results", nil, words("", "bash", "-c", "mkdir -p results; echo >results/x")},
		"elsewhere":        {words("", "python3", "-c", "open('/home/ada/x', 'w')"), "write to the current directory, /work", nil, words("", "python3", "-c", "open('x', 'w')")},
		"host's directory": {words("--data d", "python3", "-c", "open('d/all.txt')"), "d/all.txt is /data/all.txt inside", nil, words("--data d", "python3", "-c", "open('/data/all.txt')")},
		"project":          {words("--project d", "cat", "d/config.json"), "d/config.json is /analysis/config.json inside", nil, words("--project d", "cat", "/analysis/config.json")},
		"by its last part": {words("--data d", "cat", "deep.csv"), "there is /data/sub/deep.csv", nil, words("--data d", "cat", "/data/sub/deep.csv")},
		"local file":       {words("", "cat", "d/all.txt"), "add --input d/all.txt and open /inputs/all.txt", nil, words("--input d/all.txt", "cat", "/inputs/all.txt")},
		"private":          {words("--data private", "cat", "/data/a.csv"), "chmod -R o+rX private", sh("chmod -R o+rX private"), nil},
		"private, R":       {words("--data private2", "Rscript", "-e", "read.csv('/data/a.csv')"), "chmod -R o+rX private2", sh("chmod -R o+rX private2"), nil},
		"to the data, R":   {words("--data d", "Rscript", "-e", "write.csv(1, '/data/x.csv')"), "/data/x.csv cannot be written: write to the current directory", nil, words("--data d", "Rscript", "-e", "write.csv(1, 'x.csv')")},
		"to the data, sh":  {words("--data d", "sh", "-c", "echo >/data/x"), "/data/x cannot be written: write to the current directory", nil, words("--data d", "sh", "-c", "echo >x")},
		"not executable":   {words("--data tools", "/data/plain.sh"), "chmod a+x tools/plain.sh", sh("chmod a+x tools/plain.sh"), nil},
		"a pipe":           {[]string{"--", "ls | wc"}, "-- sh -c 'ls | wc'", nil, []string{"--", "sh", "-c", "ls | wc"}},
		"one word":         {[]string{"--", "ls /"}, "-- sh -c 'ls /'", nil, []string{"--", "sh", "-c", "ls /"}},
		"cd":               {words("--data d", "cd", "/data"), "run it with -- sh -c 'cd /data'", nil, words("--data d", "sh", "-c", "cd /data")},
		"source":           {words("--data d", "source", "/data/all.txt"), "run it with -- bash -c 'source /data/all.txt'", sh("echo true >d/all.txt"), words("--data d", "bash", "-c", "source /data/all.txt")},
		"variable":         {words("", "N=1", "sh", "-c", "test $N = 1"), "set a variable with --env N=1", nil, words("--env N=1", "sh", "-c", "test $N = 1")},
		"misspelled":       {words("", "pyhton3", "-V"), "did you mean python3?", nil, words("", "python3", "-V")},
		"empty rootfs":     {words("--rootfs ./d", "true"), "d has no programs in /usr/bin and /bin", nil, words("", "true")},
		"sudo, command":    {words("", "sudo", "ls"), "leave out sudo", nil, words("", "ls")},
		"sudo":             {words("", "sh", "-c", "sudo ls"), "leave out sudo", nil, words("", "sh", "-c", "ls")},
		"Windows":          {words("--input crlf.sh", "/inputs/crlf.sh"), `sed -i 's/\r$//'`, sh(`sed -i 's/\r$//' crlf.sh`), nil},
		"Windows, env":     {words("--input env.py", "/inputs/env.py"), `sed -i 's/\r$//'`, sh(`sed -i 's/\r$//' env.py`), nil},
		"no interpreter":   {words("--input none.sh", "/inputs/none.sh"), "no program /opt/none/sh, which the first line of the script names, in the container, but there is /usr/bin/sh", sh("echo '#!/usr/bin/sh' >none.sh"), nil},
		"relative link":    {words("--data links", "cat", "/data/rel"), "add --input " + h.path("store/sub/o.txt") + " and open /inputs/o.txt", nil, words("--data links --input "+h.path("store/sub/o.txt"), "cat", "/inputs/o.txt")},
		"absolute link":    {words("--data links", "cat", "/data/abs"), "add --input " + h.path("store/sub/o.txt") + " and open /inputs/o.txt", nil, words("--data links --input "+h.path("store/sub/o.txt"), "cat", "/inputs/o.txt")},
		"linked directory": {words("--data links", "cat", "/data/dir/o.txt"), "add --input " + h.path("store/sub") + " and open /inputs/sub/o.txt", nil, words("--data links --input "+h.path("store/sub"), "cat", "/inputs/sub/o.txt")},
		"whole path":       {words("--data links", "cat", "/data/own"), "open /data/.annex/k", nil, words("--data links", "cat", "/data/.annex/k")},
		"dangling link":    {words("--data links", "cat", "/data/none"), "/data/none is a link that leads nowhere on the host either", sh("echo >links/nowhere"), nil},
		"arguments":        {[]string{"--script", "argv.py"}, "--script FILE -- ARG", nil, []string{"--script", "argv.py", "--", "x"}},
		"module of Perl":   {words("", "perl", "-MOwn", "-e1"), "--project DIR and --env PERL5LIB=/analysis", nil, words("--project d --env PERL5LIB=/analysis", "perl", "-MOwn", "-e1")},
		"bash":             {[]string{"--script", "bash.sh"}, "write #!/bin/bash in its first line", sh(`sed -i '1i #!/bin/bash' bash.sh`), nil},
		"array of bash":    {[]string{"--script", "array.sh"}, "if it is written for bash, write #!/bin/bash in its first line", sh(`sed -i '1i #!/bin/bash' array.sh`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			if strings.HasPrefix(name, "private") && !theHost.ranged {
				t.Skip("the analysis has the caller's id")
			}
			id := h.id(strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(name))
			r := h.start(append([]string{"--id", id}, c.args...)...)
			if r.State == "complete" || len(r.Hints) != 1 || !strings.Contains(r.Hints[0].Message, c.hint) {
				t.Fatalf("%s: hints %q, want %q; %q", r.State, r.Hints, c.hint, r.Message)
			}
			if c.change != nil {
				if err := c.change(); err != nil {
					t.Fatal(err)
				}
			}
			advised := c.advised
			if advised == nil {
				advised = c.args
			}
			h.start(append([]string{"--id", id + "-advised"}, advised...)...).expect(t, "complete", "exit", 0)
		})
	}
}

func python(program string) []string { return []string{"--", "python3", "-c", program} }

// TestMessageNamesTheCause: the message has the last output of the analysis, without the values of secrets.
func TestMessageNamesTheCause(t *testing.T) {
	h := newHarness(t)
	h.setenv("TOKEN", "s3cr3t-value")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"exception": {python("raise ValueError('no such column')"), "the analysis exited with 1: ValueError: no such column"},
		"last line": {[]string{"--", "sh", "-c", "echo first >&2; echo last >&2; exit 3"}, "the analysis exited with 3: last"},
		"silent":    {[]string{"--", "sh", "-c", "exit 4"}, "the analysis exited with 4"},
		"signal":    {[]string{"--", "sh", "-c", "echo dying >&2; kill -ABRT $$"}, "the analysis was killed by SIGABRT: dying"},
		"one file":  {[]string{"--work-size=1MiB", "--", "truncate", "-s", "4M", "/tmp/x"}, "the analysis was killed by SIGXFSZ: one file became larger than --work-size, which also bounds files in /tmp"},
		"secret":    {[]string{"--secret=TOKEN", "--", "sh", "-c", "echo login with $TOKEN failed >&2; exit 5"}, "the analysis exited with 5: login with $TOKEN failed"},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			if r := h.start(append([]string{"--id", h.id(strings.ReplaceAll(name, " ", "-"))}, c.args...)...); r.Message != c.want {
				t.Errorf("message %q, want %q", r.Message, c.want)
			}
		})
	}
	table := h.do("run", "--id", h.id("table"), "--", "sh", "-c", "echo cannot open x >&2; exit 1").stderr
	if !strings.Contains(table, "the analysis exited with 1: cannot open x") {
		t.Errorf("the table does not say why:\n%s", table)
	}
}
