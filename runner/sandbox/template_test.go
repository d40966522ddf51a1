package sandbox

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/filter"
	"github.com/scidex-ai/scidex-oci/runner/preload"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
	"github.com/scidex-ai/scidex-oci/spec"
)

// python makes a run of a Python script.
func python(t *testing.T, s *Supervisor, id, script string, args ...string) *testRun {
	t.Helper()
	r := newRun(t, s, id, "true", 0)
	file := rootfs.File{Path: "/analysis/script.py", Data: []byte(script), Mode: 0o444}
	r.job.Tree.Files = append(slices.Clip(r.job.Tree.Files), file)
	r.job.Spec.Process.Args = append([]string{"/dev/scidex-init", "/usr/bin/python3", file.Path}, args...)
	return r
}

// template starts a template that has imported what the script imports first.
func (r *testRun) template(modules string) (note string) {
	r.t.Helper()
	files, err := preload.TemplateFiles()
	r.good(err)
	r.job.Tree.Files = append(r.job.Tree.Files, files...)
	r.job.Template, r.job.Owner = true, 0
	r.job.Ahead = preload.TemplateVariables(modules)
	for i, variable := range r.job.Ahead {
		r.job.Ahead[i] = strings.Replace(variable, "PYTHONPATH=", "PYTHONPATH="+r.modules, 1)
	}
	r.job.Filter, err = filter.Template(r.job.Audit)
	r.good(err)
	r.job.WorkMount = 0
	r.created, err = r.session.Create(r.job, []*os.File{r.work, r.ingest})
	r.good(err)
	r.pid = r.created.Pid
	note, _, err = r.session.Prepare()
	r.good(err)
	return note
}

// fork runs a forked analysis to its end.
func (r *testRun) fork() (note, stdout string, exit protocol.Exit) {
	r.t.Helper()
	r.job.Forked = true
	r.create()
	note, pidfd, err := r.session.Prepare()
	r.good(err)
	if pidfd != nil {
		r.t.Cleanup(func() { pidfd.Close() })
	}
	r.good(r.session.Start())
	read := make(chan string)
	go func() {
		said, _ := io.ReadAll(r.created.Stdout)
		read <- string(said)
	}()
	go io.Copy(os.Stderr, r.created.Stderr) //nolint:errcheck // for a reader
	exit = r.wait()
	return note, <-read, exit
}

const sums = `
import json, sys, os
print(json.dumps([sys.argv, os.getcwd(), os.getuid(), os.getpid() > 1]))
open("file", "w").write("written")
sys.exit(3)
`

func TestForked(t *testing.T) {
	s := launched(t)
	template := python(t, s, "template", sums)
	if note := template.template(spec.PreloadAuto); !strings.HasPrefix(note, protocol.NoteReady) {
		t.Fatalf("the template says %q", note)
	}
	for _, id := range []string{"one", "two", "three", "four"} {
		r := python(t, s, id, sums, "a", "b c")
		note, out, exit := r.fork()
		if !strings.HasPrefix(note, protocol.NoteReady) {
			t.Errorf("%s: %q", id, note)
		}
		if exit.Status.ExitStatus() != 3 || !exit.Executed || !exit.Ended {
			t.Errorf("%s: %+v", id, exit)
		}
		t.Logf("%s", out)
		r.harvest()
		r.end()
	}
	template.end()
}
