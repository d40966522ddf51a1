package sandbox

import (
	"bytes"
	_ "embed"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/host/landlock"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
)

// serve is a module that forks by code of its own, as runner/preload/src/fork.c does. An attack is what follows it.
//
//go:embed testdata/hostile/serve.py
var serve string

// hostile is a template whose module is hostile.
type hostile struct {
	*testRun
	note string // of the template
	said func() string
}

// hostileTemplate starts a template with the module.
func hostileTemplate(t *testing.T, s *Supervisor, attack string) hostile {
	t.Helper()
	h := hostile{testRun: python(t, s, "template", "import sys\n")}
	module := rootfs.File{Path: "/srv/hostile/hostile.py", Data: []byte(serve + attack), Mode: 0o444}
	h.job.Tree.Files = append(h.job.Tree.Files, module)
	h.modules = "/srv/hostile:"
	h.note = h.template("hostile")
	var said bytes.Buffer
	all := make(chan struct{})
	go func() {
		_, _ = io.Copy(&said, h.created.Stderr)
		close(all)
	}()
	h.said = sync.OnceValue(func() string { // once it has ended
		<-all
		return said.String()
	})
	return h
}

// honest is a script that says what it is: it must say the same in a run that started cold.
const honest = `
import os, sys
status = dict(line.rstrip("\n").split(":\t", 1) for line in open("/proc/self/status") if ":\t" in line)
print(*[status[name] for name in ("Uid", "Gid", "Groups", "CapPrm", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Threads", "Umask")])
try:
    os.kill(1, 0)
    print("signals are not scoped")
except PermissionError:
    print("signals are scoped")
print(sorted(os.listdir("/proc/self/fd")), os.getcwd(), os.listdir("/work"), sorted(name for name in os.listdir("/proc") if name.isdigit()).__len__())
open("file", "w").write("written")
sys.stdout.flush()
os._exit(3)
`

// attacked runs the honest script forked from a hostile template, and returns its note. The run must be right in any case.
func attacked(t *testing.T, s *Supervisor, id, want string) (note string) {
	t.Helper()
	r := python(t, s, id, honest)
	note, said, exit := r.fork()
	if said != want {
		t.Errorf("%s says %q, not %q", id, said, want)
	}
	if !exit.Ended || exit.Status.ExitStatus() != 3 {
		t.Errorf("%s: %+v", id, exit)
	}
	r.harvest()
	r.end()
	return note
}

// honestly is what the honest script says in a run that is not forked.
func honestly(t *testing.T, s *Supervisor) string {
	t.Helper()
	r := python(t, s, "cold", honest)
	r.create()
	r.good(r.session.Start())
	said, err := io.ReadAll(r.created.Stdout)
	r.good(err)
	r.wait()
	r.harvest()
	r.end()
	return string(said)
}

// left are the processes in a supervisor's PID namespace beside it.
func left(t *testing.T, s *Supervisor) (names []string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/" + strconv.Itoa(s.Pid()) + "/root/proc/[0-9]*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if name, err := os.ReadFile(path); err == nil && filepath.Base(filepath.Dir(path)) != "1" {
			names = append(names, strings.TrimSpace(string(name)))
		}
	}
	return names
}

// TestForkedByHostileModules: what a template's module does to a fork is seen, and the run starts cold; or it changes nothing.
func TestForkedByHostileModules(t *testing.T) {
	want, soak := honestly(t, launched(t)), os.Getenv("SCIDEX_OCI_SOAK") != ""
	for _, attack := range attacks {
		if !attack.always && !soak {
			continue // scripts/soak has it
		}
		if attack.landlock && landlock.Version() == 0 {
			t.Logf("%s: not covered here: the kernel has no Landlock", attack.name)
			continue
		}
		t.Run(attack.name, func(t *testing.T) {
			t.Parallel()
			s := launched(t)
			h := hostileTemplate(t, s, attack.module)
			if attack.refused != "" {
				if strings.HasPrefix(h.note, protocol.NoteReady) || !strings.Contains(h.note, attack.refused) {
					t.Errorf("the template says %q, not %q", h.note, attack.refused)
				}
			}
			note := attacked(t, s, "attacked", want)
			switch ready := strings.HasPrefix(note, protocol.NoteReady); {
			case attack.refused == "" && attack.seen == "" && !ready:
				t.Errorf("the run is not forked: %q; the template is %q", note, h.note)
			case attack.seen != "" && (ready || !strings.Contains(note, attack.seen) && (attack.or == "" || !strings.Contains(note, attack.or))):
				t.Errorf("the run is started with %q, want %q", note, attack.seen)
			}
			after := attacked(t, s, "after", want)
			if killed := !strings.HasPrefix(after, protocol.NoteReady); killed != (attack.refused+attack.seen != "") {
				t.Errorf("the run after it is started with %q", after)
			}
			h.end()
			if said := h.said(); said != attack.says {
				t.Errorf("the template said %q, want %q", said, attack.says)
			}
			if names := left(t, s); len(names) > 0 {
				t.Errorf("%v are left", names)
			}
		})
	}
}
