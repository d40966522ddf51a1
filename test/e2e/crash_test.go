package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// gone is how soon after the death of launcher or supervisor no process of the run may be left.
const gone = hangTimeout

// endless announces itself and goes on, in the background too, until it is killed.
const endless = `echo kept >partial; (sh -c 'while :; do sleep 1; done' background "$0" & ) & echo ready; while :; do sleep 1; done`

// collected is what `gc --json` prints.
type collected struct {
	DryRun    bool                  `json:"dry_run"`
	Committed []struct{ ID string } `json:"committed"`

	Lost    []struct{ ID string } `json:"lost"`
	Removed []string              `json:"removed"`
	Expired []struct {
		ID             string
		Outputs, Bytes int64
	} `json:"expired"`
	OutputsOnly bool  `json:"outputs_only"`
	Blobs       int64 `json:"blobs"`
	BlobBytes   int64 `json:"blob_bytes"`

	Kept    []string `json:"kept"`
	Foreign []string `json:"foreign"`
	Errors  []string `json:"errors"`
}

func (h *harness) gc(flags ...string) collected {
	h.t.Helper()
	var c collected
	if err := json.Unmarshal([]byte(h.mustRun(append([]string{"gc", "--json"}, flags...)...).stdout), &c); err != nil {
		h.t.Fatal(err)
	}
	if len(c.Errors) > 0 {
		h.t.Errorf("gc: %q", c.Errors)
	}
	// gc of any root removes what a killed selftest or shell has left in the host's /tmp, and other tests kill some at the same time.
	c.Removed = slices.DeleteFunc(c.Removed, func(path string) bool {
		return strings.HasPrefix(path, "/tmp/scidex-oci-selftest-") || strings.HasPrefix(path, "/tmp/scidex-content-")
	})
	return c
}

// expectGone waits until every process of a run is dead.
func expectGone(t *testing.T, all []watched, marker string) {
	t.Helper()
	until(t, gone, "the processes of the run end", func() bool {
		return len(with(marker)) == 0 && !slices.ContainsFunc(all, watched.alive)
	})
}

// expectLost checks that gc finds a run lost, removes what it left and says so.
func (h *harness) expectLost(id string) {
	h.t.Helper()
	c := h.gc()
	if len(c.Lost) != 1 || c.Lost[0].ID != id {
		h.t.Errorf("gc marked %v lost, want %s", c.Lost, id)
	}
	h.show(id).expect(h.t, "lost", "supervisor_lost", 125)
	if left := leftovers(id, h.root); len(left) > 0 {
		h.t.Errorf("after gc: %v", left)
	}
	if c := h.gc(); len(c.Lost)+len(c.Removed) > 0 {
		h.t.Errorf("a second gc found %+v", c)
	}
}

// TestKilledWhileItRuns kills the launcher, or the launcher and the supervisor.
func TestKilledWhileItRuns(t *testing.T) {
	for name, kill := range map[string]func(*testing.T, *launch){
		"launcher": func(_ *testing.T, l *launch) { l.signal(syscall.SIGKILL) },
		"both, supervisor first": func(t *testing.T, l *launch) {
			supervisor := l.supervisor()
			l.signal(syscall.SIGSTOP) // so that it cannot clean up in between
			supervisor.kill(t)
			l.signal(syscall.SIGKILL)
		},
		"both, launcher first": func(t *testing.T, l *launch) {
			supervisor := l.supervisor()
			l.signal(syscall.SIGKILL)
			if supervisor.alive() {
				_ = exec.Command("kill", "-KILL", supervisor.id()).Run() // it may have ended by itself
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			id := h.newID()
			l := h.launch(id, "--", "sh", "-c", endless, id+"-marker")
			l.await("ready")
			all := l.family()
			kill(t, l)
			<-l.ended
			expectGone(t, all, id)
			if got := h.show(id); got.State != "running" {
				t.Errorf("before gc the run is %s", got.State)
			}
			h.expectLost(id)
			r := h.start("--id", id, "--", "true") // the next attempt
			r.expect(t, "complete", "exit", 0)
			if r.Attempt != 2 {
				t.Errorf("attempt %d, want 2", r.Attempt)
			}
		})
	}
}

// TestSupervisorKilled kills the supervisor under a living launcher: the run ends at once.
func TestSupervisorKilled(t *testing.T) {
	h := newHarness(t)
	id := h.newID()
	l := h.launch(id, "--", "sh", "-c", endless, id+"-marker")
	l.await("ready")
	all := l.family()
	l.supervisor().kill(t)
	r := l.wait()
	r.expect(t, "lost", "supervisor_lost", 125)
	expectGone(t, all, id)
	if left := leftovers(id, h.root); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if got := h.show(id); got.State != "lost" || got.Message != r.Message {
		t.Errorf("the catalog has %s (%s), the result said %s", got.State, got.Message, r.Message)
	}
	if c := h.gc(); len(c.Lost)+len(c.Removed) > 0 {
		t.Errorf("gc found %+v", c)
	}
}

// TestContainerKilled kills the init of the container from outside, as an administrator could.
func TestContainerKilled(t *testing.T) {
	h := newHarness(t)
	id := h.newID()
	// The init has half a second to report that the command was started, which nobody outside can see.
	l := h.launch(id, "--", "sh", "-c", "sleep 0.5; "+endless, id+"-marker")
	l.await("ready")
	all := l.family()
	for _, w := range all {
		if strings.HasPrefix(w.command, "/dev/scidex-init") {
			if !theHost.root && theHost.ranged { // its id is not the caller's
				l.supervisor().kill(t)
				l.wait().expect(t, "lost", "supervisor_lost", 125)
				return
			}
			w.kill(t)
		}
	}
	r := l.wait()
	r.expect(t, "failed", "signal", 137)
	if r.Signal == nil || *r.Signal != "SIGKILL" {
		t.Errorf("signal %v", r.Signal)
	}
	if r.output("partial").SHA256 == "" || !r.output("partial").Partial {
		t.Errorf("outputs %+v, want partial, marked so", r.Outputs)
	}
	expectGone(t, all, id)
}

// TestKilledAtTheStart kills the launcher as soon as a trace of the run can be seen.
func TestKilledAtTheStart(t *testing.T) {
	for name, seen := range map[string]func(h *harness, id string) bool{
		"state file": func(h *harness, id string) bool { return len(matches(filepath.Join(h.root, "runs", id+"@1.json"))) > 0 },
		"directory":  func(_ *harness, id string) bool { return len(matches("/tmp/scidex-analysis-"+id)) > 0 },
		"work":       func(_ *harness, id string) bool { return len(matches("/tmp/scidex-analysis-"+id+"/work")) > 0 },
		"group or ingest": func(h *harness, id string) bool {
			return len(groupsOf(id)) > 0 || !theHost.cgroup && len(matches(filepath.Join(h.root, "blobs", "ingest", "*"))) > 0
		},
		"container": func(_ *harness, id string) bool {
			return len(processes(func(p process) bool {
				return bytes.HasPrefix(p.command, []byte("/dev/scidex-init")) && bytes.Contains(p.command, []byte(id))
			})) > 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.mustRun("ls") // the catalog is there
			id := h.newID()
			l := h.launch(id, "--", "sh", "-c", endless, id+"-marker")
			for late := time.After(hangTimeout); !seen(h, id); { // no pause: the moment is short
				select {
				case <-l.ended:
					t.Fatal("the run ended by itself")
				case <-late:
					t.Fatalf("no sign of it within %v", hangTimeout)
				default:
				}
			}
			all := l.family()
			l.signal(syscall.SIGKILL)
			<-l.ended
			expectGone(t, all, id)
			h.gc()
			if left := leftovers(id, h.root); len(left) > 0 {
				t.Errorf("after gc: %v", left)
			}
			if out := h.do("show", "--json", id); out.code == 0 { // it came as far as its row
				h.show(id).expect(t, "lost", "supervisor_lost", 125)
			}
			h.start("--id", id, "--", "true").expect(t, "complete", "exit", 0)
		})
	}
}

// TestKilledWithoutExitRecord kills the launcher when the analysis has ended and the catalog cannot be written, and
// removes its exit record, as a power cut would: the files of the analysis are kept.
func TestKilledWithoutExitRecord(t *testing.T) {
	for name, change := range map[string]func(whole []byte) []byte{
		"a part":             func(whole []byte) []byte { return whole[:100] },
		"all but its digest": butItsEnd,
		"of another boot":    ofAnotherBoot,
	} {
		t.Run(name, func(t *testing.T) { newHarness(t).keepsWhatNobodyNoted(change) })
	}
}

func butItsEnd(whole []byte) []byte { return whole[:len(whole)-1] }

// ofAnotherBoot is a whole record from before the machine was started again: its working directory may have lost what was not
// synced.
func ofAnotherBoot(whole []byte) []byte {
	content := whole[:bytes.LastIndex(whole, []byte(`{"sha256":`))]
	name := []byte(`"boot_id":"`)
	at := bytes.Index(content, name) + len(name)
	content = slices.Concat(content[:at], []byte("00000000"), content[at+len("00000000"):])
	return fmt.Appendf(content, "{\"sha256\":\"%x\"}\n", sha256.Sum256(content))
}

func (h *harness) keepsWhatNobodyNoted(change func(whole []byte) []byte) {
	h.t.Helper()
	t := h.t
	id, end := h.newID(), h.flag()
	l := h.launch(id, "--input", end.input(), "--", "sh", "-c", "echo precious >result; echo ready; "+awaited)
	l.await("ready")
	release := h.lockCatalog()
	end.raise()
	until(t, hangTimeout, "the analysis has ended", func() bool { return h.analysisEnded(id) })
	all := l.family()
	l.signal(syscall.SIGKILL)
	<-l.ended
	release()
	expectGone(t, all, id)
	h.changeAftermath(id, change)
	dir := "/tmp/scidex-analysis-" + id
	c := h.gc()
	if !slices.Equal(c.Kept, []string{dir}) {
		t.Errorf("gc kept %q, want %s", c.Kept, dir)
	}
	r := h.show(id)
	r.expect(t, "lost", "supervisor_lost", 125)
	if !strings.Contains(r.Message, dir) {
		t.Errorf("the message does not say where the result is: %s", r.Message)
	}
	if got := readFile(t, dir+"/result"); got != "precious\n" {
		t.Errorf("the kept result is %q", got)
	}
	if len(h.gc().Removed) > 0 || len(matches(dir)) != 1 {
		t.Error("a second gc removed the result")
	}
	h.start("--id", id, "--", "true").expect(t, "complete", "exit", 0)
	if len(matches(dir)) > 0 || len(matches(dir+"@1")) != 1 {
		t.Errorf("after the next attempt there is %q, want %s@1", matches(dir+"*"), dir)
	}
	h.mustRun("rm", id+"@1")
	if left := leftovers(id, h.root); len(left) > 0 {
		t.Errorf("after rm: %v", left)
	}
}

// changeAftermath changes the exit record of the launcher.
func (h *harness) changeAftermath(id string, change func(whole []byte) []byte) {
	h.t.Helper()
	path := filepath.Join(h.root, "runs", id+"@1.aftermath")
	whole, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(whole), 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// TestKilledWhileItHarvests kills the supervisor when it reads 20,000 files: they are kept for the caller.
func TestKilledWhileItHarvests(t *testing.T) {
	h := newHarness(t)
	id, end := h.newID(), h.flag()
	l := h.launch(id, "--input", end.input(), "--", "python3", "-c", `
import os, time
for i in range(20000):
    with open(str(i), "w") as f: f.write(f"{i}\\n")
print("ready", flush=True)
while not os.stat("/inputs/flag").st_size: time.sleep(0.01)
`)
	l.await("ready")
	all := l.family()
	supervisor := l.supervisor()
	end.raise()
	until(t, hangTimeout, "a part is harvested", func() bool { return len(matches(filepath.Join(h.root, "blobs/ingest/*/*"))) > 2000 })
	supervisor.kill(t)
	r := l.wait()
	r.expect(t, "error", "harvest", 125)
	expectGone(t, all, id)
	if r.Kept == "" || len(matches(r.Kept+"/*")) != 20000 {
		t.Errorf("kept %q with %d files, want 20000: %q", r.Kept, len(matches(r.Kept+"/*")), r.Warnings)
	}
	ofTheirOwn(t, r.Kept)
	for _, path := range matches(r.Kept + "/*") {
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
			t.Fatalf("%s has mode %v, want that of the analysis, 0640 (%v)", path, info.Mode(), err)
		}
	}
	if err := os.RemoveAll(r.Kept); err != nil {
		t.Error(err)
	}
}

// analysisEnded reports whether the launcher has recorded that every process of the run is dead.
func (h *harness) analysisEnded(id string) bool {
	h.t.Helper()
	raw, err := os.ReadFile(filepath.Join(h.root, "runs", id+"@1.json"))
	return err == nil && strings.Contains(string(raw), `"ended":true`)
}

// lockCatalog takes the write lock of the catalog until it is released.
func (h *harness) lockCatalog() (release func()) {
	h.t.Helper()
	cmd := h.command("/usr/bin/python3", "-c", `
import sqlite3, sys
catalog = sqlite3.connect(sys.argv[1], isolation_level=None)
catalog.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
`, filepath.Join(h.root, "catalog.db"))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	if n, err := stdout.Read(make([]byte, 7)); n != 7 {
		h.t.Fatal("the catalog could not be locked: ", err)
	}
	return func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			h.t.Error(err)
		}
	}
}
