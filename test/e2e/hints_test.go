package e2e

import (
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

// TestHints makes each situation for real, and reads its hint from the JSON and from the table.
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
	h.write("show.py", "class plt:\n    def show(): pass\nplt.show()\n", 0o644)
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
		"directory":      {[]string{"--script", h.path("write.py")}, "no_directory", []string{"no directory results in /work, which is empty", `os.makedirs("results"`}},
		"redirection":    {[]string{"--", "sh", "-c", "echo >results/x"}, "no_directory", []string{"mkdir -p results"}},
		"arguments":      {[]string{"--script", h.path("argv.py")}, "arguments_missing", []string{"the script got no arguments", "after --"}},
		"display":        {python("raise OSError('no display name and no $DISPLAY environment variable')"), "no_display", []string{"no display"}},
		"shown":          {[]string{"--script", h.path("show.py")}, "no_display", []string{`savefig("name.png")`}},
		"sudo":           {[]string{"--", "sh", "-c", "sudo true"}, "no_privileges", []string{"cannot gain privileges", "--runtime DIR"}},
		"sudo completes": {[]string{"--", "sh", "-c", "sudo true; echo done"}, "no_privileges", []string{"cannot gain privileges"}},
		"pool": {
			// The time only ends it: a shell has said it long before.
			[]string{"--limits=best-effort", "--pids=20", "--timeout=20s", "--", "sh", "-c", "echo 'BlockingIOError: [Errno 11] Resource temporarily unavailable' >&2; exec sleep 600"},
			"pids_limit",
			[]string{"20 processes", "--pids"},
		},
		"pip":          {[]string{"--", "sh", "-c", "echo ERROR: No matching distribution found for x >&2; exit 1"}, "no_privileges", []string{"install packages"}},
		"program":      {[]string{"--", "nosuchprogram"}, "program_missing", []string{"no program nosuchprogram", "--runtime"}},
		"interpreter":  {[]string{"--", "sh", "-c", "nosuchprogram"}, "program_missing", []string{"no program nosuchprogram"}},
		"bash":         {[]string{"--script", h.path("bash.sh")}, "bash_needed", []string{"run by sh", "#!/bin/bash in its first line"}},
		"subprocess":   {python("import subprocess; subprocess.run(['nosuchprogram'])"), "program_missing", []string{"no program nosuchprogram"}},
		"GPU":          {[]string{"--", "sh", "-c", "echo sh: 1: nvidia-smi: not found >&2; exit 1"}, "no_gpu", []string{"no GPU"}},
		"more":         {[]string{"--script", h.path("argv2.py"), "--", "one"}, "arguments_missing", []string{"got only the argument one, and wants more"}},
		"chdir":        {python("import os; os.chdir('/home/ada')"), "changes_directory", []string{"no directory /home/ada in the container", "/work"}},
		"cd":           {[]string{"--", "sh", "-c", "cd /home/ada"}, "changes_directory", []string{"no directory /home/ada"}},
		"export":       {[]string{"--export", h.path("exported"), "--", "echo", "done"}, "nothing_exported", []string{"left nothing to export in /work", "only scidex-result.json"}},
		"output":       {[]string{"--output=out.csv", "--", "sh", "-c", "echo >other.csv"}, "output_missing", []string{"wrote other.csv"}},
		"notebook":     {[]string{"--runtime", h.path("runtime"), "--script", h.path("n.ipynb")}, "notebook_packages", []string{h.path("runtime") + "/bin/pip install nbclient nbformat ipykernel"}},
		"no input":     {python("input()"), "no_input", []string{"standard input", "terminal"}},
		"beside":       {[]string{"--script", h.path("fit.py")}, "module_missing", []string{"helper.py is beside the script", "--project " + h.dir}},
		"one word":     {[]string{"--", "python3 fit.py"}, "program_missing", []string{"one word"}},
		"read-only":    {append([]string{"--data", data}, python("open('/data/b.csv', 'w')")...), "read_only", []string{"/data/b.csv cannot be written", "/work"}},
		"local file":   {[]string{"--", "cat", "here.csv"}, "local_file", []string{"--input here.csv"}},
		"time":         {[]string{"--timeout=1s", "--", "sleep", "60"}, "time_limit", []string{"1s", "--timeout"}},
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

func python(program string) []string { return []string{"--", "python3", "-c", program} }

// TestMessageNamesTheCause: what the analysis said last is in the message, without the values of secrets.
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
