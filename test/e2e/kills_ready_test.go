package e2e

import (
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// readyPhases are those of a prepared start, with the module that a script imports, and the file of /work that shows a
// test how far it is.
var readyPhases = map[string]struct{ module, seen string }{
	"importing":    {"if AHEAD:\n    open('importing', 'w').close()\n    wait()\n", "importing"},
	"at the gate":  {"open('imported', 'w').close()\n", "imported"},
	"after PASS":   {"", "started"},
	"after ANEW":   {"if AHEAD:\n    print('cold')\nelse:\n    open('again', 'w').close()\n    wait()\n", "again"},
	"between them": {"", ""}, // by chance, from the working directory on
}

// waitingModule begins each of their modules.
const waitingModule = `
import os, time
with open("/proc/self/environ", "rb") as environment:
    AHEAD = b"SCIDEX_PRELOAD=" in environment.read()
def wait():
    while not os.path.getsize("/inputs/flag"):
        time.sleep(0.01)
`

// TestReadyKilled kills launcher, supervisor and both in each phase of a prepared start: nothing is left, the run is
// lost, and --resume runs it.
func TestReadyKilled(t *testing.T) {
	h := newHarness(t)
	venv := h.venv("/usr/bin/python3", h.dir+"/venv")
	for phase, p := range readyPhases {
		if p.seen == "" && !inSoak() {
			continue // the others are exact
		}
		module := "phase_" + strings.ReplaceAll(strings.ToLower(phase), " ", "_")
		writeFile(t, h.siteOf(venv)+"/"+module+".py", waitingModule+p.module, 0o644)
		script := h.write(module+"_script.py", "import "+module+"\nopen('started', 'w').close()\n"+module+".wait()\nprint('done')\n", 0o644)
		for i := range 3 * soakCount(20) {
			victim := victims[i%len(victims)]
			t.Run(phase+", "+victim, func(t *testing.T) {
				k := &readyKill{harness: h.in(t), phase: phase, victim: victim, flag: h.in(t).flag()}
				k.line = manifest{"id": k.newID(), "script": script, "runtime": venv, "inputs": flags(k.flag.input())}
				k.strike(p.seen)
				k.examine()
			})
		}
	}
}

// readyKill is one batch that is killed.
type readyKill struct {
	*harness
	phase, victim string
	flag          flag
	line          manifest
	file          string
	lost          []string // the ids of what was under way
	cmd           *exec.Cmd
	stdout        strings.Builder
}

func (k *readyKill) id() string { return k.line["id"].(string) }

// lines are those of the batch. A script waits at the gate only while another runs; after so many short ones it is prepared.
func (k *readyKill) lines() (all []manifest) {
	k.lost = []string{k.id()}
	if k.phase == "at the gate" {
		for range 16 {
			all = append(all, sh(k.newID(), "true"))
		}
		runs := k.newID()
		k.lost = append(k.lost, runs)
		all = append(all, sh(runs, awaited).and("inputs", flags(k.flag.input())))
	}
	return append(all, k.line)
}

// strike starts the batch, waits for the phase and kills.
func (k *readyKill) strike(seen string) {
	k.t.Helper()
	if !theHost.root && theHost.ranged {
		seen = "" // files of another id, which the caller does not see: at a random moment of the phase
	}
	k.file = k.harness.lines(k.lines()...)
	k.cmd = k.command(theHost.bin, "batch", "--jobs=1", k.file)
	k.cmd.Stdout, k.cmd.Stderr = &k.stdout, io.Discard
	if err := k.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	until(k.t, hangTimeout, "it is "+k.phase, func() bool { return len(matches("/tmp/scidex-analysis-"+k.id()+"/work/"+seen)) > 0 })
	if seen == "" {
		moment := time.Duration(rand.IntN(300)) * time.Millisecond
		k.t.Logf("killed %v after the working directory was there", moment)
		time.Sleep(moment)
	}
	var all []watched
	until(k.t, hangTimeout, "the supervisor is known", func() bool {
		all = familyOf(k.t, k.cmd.Process.Pid)
		return slices.ContainsFunc(all, isSupervisor)
	})
	if k.phase == "at the gate" { // to import was the last but for the note
		until(k.t, hangTimeout, "the interpreter waits", func() bool {
			all = familyOf(k.t, k.cmd.Process.Pid)
			return slices.ContainsFunc(all, atTheGate)
		})
	}
	k.kill(all)
	_ = k.cmd.Wait() // examine looks at the exit code
	expectGone(k.t, all, k.id())
}

// atTheGate reports whether a process is an interpreter that sleeps.
func atTheGate(w watched) bool {
	stat, _ := os.ReadFile("/proc/" + w.id() + "/stat")
	return strings.HasPrefix(w.command, "python3\x00") && strings.Contains(string(stat), ") S ")
}

func isSupervisor(w watched) bool { return strings.HasPrefix(w.command, "scidex-oci: supervisor") }

func (k *readyKill) kill(all []watched) {
	k.t.Helper()
	if k.victim != "launcher" {
		k.tell(k.cmd, syscall.SIGSTOP) // so that it cannot clean up in between
		all[slices.IndexFunc(all, isSupervisor)].kill(k.t)
	}
	if k.victim != "supervisor" {
		k.tell(k.cmd, syscall.SIGKILL)
	}
	k.tell(k.cmd, unix.SIGCONT)
}

// expectStarts checks that the killed attempt had not started before its turn, and how the next one was started.
func (k *readyKill) expectStarts(killed, next result) {
	k.t.Helper()
	if early := k.phase == "importing" || k.phase == "at the gate"; early && killed.StartedAt != nil {
		k.t.Errorf("it has started at %v", killed.StartedAt)
	}
	if cold := k.phase == "after ANEW"; startOf(next) != map[bool]string{true: "cold: an import printed something", false: "ready"}[cold] {
		k.t.Errorf("the next start was %q", startOf(next))
	}
	if text := k.stdoutOf(next); !strings.HasSuffix(text, "done\n") {
		k.t.Errorf("it said %q", text)
	}
}

// examine checks what must hold after a kill, before gc, after it, and when the batch goes on.
func (k *readyKill) examine() {
	k.t.Helper()
	told := k.results(k.stdout.String())
	switch {
	case k.victim == "supervisor":
		for _, id := range k.lost {
			told[id].expect(k.t, "lost", "supervisor_lost", 125)
		}
	case k.cmd.ProcessState.ExitCode() != -1:
		k.t.Errorf("the launcher ended with %v and said %q", k.cmd.ProcessState, k.stdout.String())
	default:
		k.show(k.id()).expect(k.t, "running", "", 0)
	}
	if k.victim != "launcher" { // else --resume finds it
		k.gc()
		if left := leftovers(k.id(), k.root); len(left) > 0 {
			k.t.Errorf("after gc: %q", left)
		}
	}
	k.flag.raise()
	got, _ := k.batch(0, "--resume", k.file)
	for _, id := range k.lost {
		got[id].expect(k.t, "complete", "exit", 0)
		if r := k.show(id + "@1"); r.State != "lost" || got[id].Attempt != 2 {
			k.t.Errorf("%s ended as %s, and then in attempt %d", id, r.State, got[id].Attempt)
		}
	}
	k.expectStarts(k.show(k.id()+"@1"), got[k.id()])
	k.touched(k.gc())
	if left := leftovers(k.id(), k.root); len(left) > 0 {
		k.t.Errorf("left: %q", left)
	}
}
