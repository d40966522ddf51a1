// Package sandboxtest is the conformance suite of sandboxes: an implementation of runner/sandbox passes Run with a real supervisor. Its own
// tests may use Script.
package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// Launch starts a supervisor, as warm.Launch does.
type Launch func(context.Context, idmap.Account) (sandbox.Supervisor, error)

// Run runs the suite.
func Run(t *testing.T, launch Launch) {
	t.Run("lost", func(t *testing.T) { lost(t, launch) })
	t.Run("left", func(t *testing.T) { left(t, launch) })
	s := Launched(t, launch)
	for _, test := range []struct {
		name string
		run  func(*testing.T, sandbox.Supervisor)
	}{
		{"gate", gate},
		{"exit", exits},
		{"signal", signaled},
		{"not found", notFound},
		{"standard input", stdin},
		{"stop", stop},
		{"stop by force", stopByForce},
		{"kill", kill},
		{"timeout", timeout},
		{"suspend", suspend},
		{"work full", workFull},
		{"harvest", harvest},
		{"harvest ends", harvestEnds},
		{"clean", clean},
		{"clean and keep", keep},
		{"sessions", sessions},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, s) })
	}
	if err := s.Close(); err != nil || s.Alive() || !s.Died(0) {
		t.Errorf("a closed supervisor: %v, alive %v", err, s.Alive())
	}
}

// Launched is a supervisor until the end of the test.
func Launched(t testing.TB, launch Launch) sandbox.Supervisor {
	t.Helper()
	s, err := launch(t.Context(), Account(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if !s.Alive() || s.Pid() <= 0 {
		t.Fatalf("a supervisor that is ready is not alive, or has the process id %d", s.Pid())
	}
	return s
}

// gate: nothing of an analysis begins before Start.
func gate(t *testing.T, s sandbox.Supervisor) {
	r := New(t, s, "gate", "echo up")
	r.Create()
	if r.Created.Walls == (sandbox.Walls{}) {
		t.Error("it reports no walls")
	}
	r.Must(r.Session.Close())
	if said, err := io.ReadAll(r.Created.Stdout); err != nil || len(said) > 0 {
		t.Errorf("it said %q: %v", said, err)
	}
	r.End()
}

func exits(t *testing.T, s sandbox.Supervisor) {
	r := New(t, s, "exit", "echo out; echo err >&2; exit 7")
	r.Create()
	r.Must(r.Session.Start())
	started := time.Time{}
	exit, err := r.Session.Wait(sandbox.Watch{Started: func(at time.Time) { started = at }, Usage: func(sandbox.Usage) {}})
	r.Must(err)
	if !exit.Executed || !exit.Ended || !exit.Status.Exited() || exit.Status.ExitStatus() != 7 || exit.Succeeded() {
		t.Errorf("it ended as %+v", exit)
	}
	if started.IsZero() || exit.Started.IsZero() || exit.Finished.Before(exit.Started) {
		t.Errorf("it ran from %v (%v) to %v", exit.Started, started, exit.Finished)
	}
	if exit.CPU <= 0 || exit.MemoryPeak <= 0 {
		t.Errorf("it used %v and %d bytes", exit.CPU, exit.MemoryPeak)
	}
	for want, stream := range map[string]io.Reader{"out\n": r.Created.Stdout, "err\n": r.Created.Stderr} {
		if said, err := io.ReadAll(stream); err != nil || string(said) != want {
			t.Errorf("it said %q instead of %q: %v", said, want, err)
		}
	}
	r.End()
}

func signaled(t *testing.T, s sandbox.Supervisor) {
	r := New(t, s, "signal", "echo up; kill -SEGV $$")
	r.Begin()
	if exit := r.Wait(); !exit.Ended || !exit.Status.Signaled() || exit.Status.Signal() != unix.SIGSEGV {
		t.Errorf("it ended as %+v", exit)
	}
	r.End()
}

func notFound(t *testing.T, s sandbox.Supervisor) {
	r := New(t, s, "not-found", "")
	r.Job.Spec.Process.Args = []string{"/no/such"}
	r.Create()
	r.Must(r.Session.Start())
	if exit := r.Wait(); exit.Executed || exit.Ended || exit.Errno != unix.ENOENT {
		t.Errorf("it ended as %+v", exit)
	}
	r.End()
}

func stdin(t *testing.T, s sandbox.Supervisor) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	r := New(t, s, "stdin", "cat")
	r.Job.Stdin = read
	r.Create()
	r.Must(r.Session.Start())
	_, err = write.WriteString("given")
	r.Must(errors.Join(err, write.Close()))
	if said, err := io.ReadAll(r.Created.Stdout); err != nil || string(said) != "given" {
		t.Errorf("it read %q: %v", said, err)
	}
	r.Wait()
	r.End()
}

func stop(t *testing.T, s sandbox.Supervisor) {
	r := New(t, s, "stop", "trap 'exit 7' TERM; sleep 1000 & echo up; wait")
	r.Job.Grace = time.Hour
	r.Begin()
	r.Must(r.Session.Stop())
	if exit := r.Wait(); !exit.Ended || exit.Status.ExitStatus() != 7 || exit.TimedOut {
		t.Errorf("it ended as %+v", exit)
	}
	r.End()
}

func stopByForce(t *testing.T, s sandbox.Supervisor) {
	r := New(t, s, "stop-by-force", "trap '' TERM; echo up; sleep 1000")
	r.Job.Grace = 10 * time.Millisecond
	r.Begin()
	r.Must(r.Session.Stop())
	if exit := r.Wait(); exit.Ended && exit.Status.Exited() {
		t.Errorf("it ended as %+v", exit)
	}
	r.End()
}

// kill: what the analysis has left in other sessions and process groups dies too, before Wait returns.
func kill(t *testing.T, s sandbox.Supervisor) {
	mark := fmt.Sprintf("1000.%d", os.Getpid())
	r := New(t, s, "kill", "setsid sleep "+mark+" & (setsid sleep "+mark+" &); trap '' TERM; echo up; wait")
	r.Begin()
	killed := false
	r.Must(r.Session.Kill())
	exit, err := r.Session.Wait(sandbox.Watch{Started: func(time.Time) {}, Usage: func(sandbox.Usage) {}, Killed: func() { killed = true }})
	r.Must(err)
	if exit.Ended && exit.Status.Exited() || !killed {
		t.Errorf("it ended as %+v, Killed called: %v", exit, killed)
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	r.Must(err)
	for _, path := range commands {
		if command, err := os.ReadFile(path); err == nil && string(command) == "sleep\x00"+mark+"\x00" { // that of a dead one is empty
			t.Errorf("%s lives", path)
		}
	}
	r.End()
}

func timeout(t *testing.T, s sandbox.Supervisor) {
	r := New(t, s, "timeout", "sleep 1000")
	r.Job.Timeout = 50 * time.Millisecond
	r.Create()
	r.Must(r.Session.Start())
	if exit := r.Wait(); !exit.TimedOut || !exit.Executed {
		t.Errorf("it ended as %+v", exit)
	}
	r.End()
}

// suspend: Suspend and Resume are answered, and the time between them is no time of the analysis.
func suspend(t *testing.T, s sandbox.Supervisor) {
	r := New(t, s, "suspend", "echo up; sleep 1000")
	r.Begin()
	r.Must(r.Session.Suspend())
	var calls []string
	exit, err := r.Session.Wait(sandbox.Watch{
		Started: func(time.Time) {}, Usage: func(sandbox.Usage) {},
		Suspended: func(err error) {
			calls = append(calls, fmt.Sprint("suspended ", err))
			time.Sleep(10 * time.Millisecond) // to be counted
			r.Must(r.Session.Resume())
		},
		Resumed: func() {
			calls = append(calls, "resumed")
			r.Must(r.Session.Kill())
		},
	})
	r.Must(err)
	if got := strings.Join(calls, ", "); got != "suspended <nil>, resumed" || exit.Suspended <= 0 {
		t.Errorf("answered %q; it was suspended for %v", got, exit.Suspended)
	}
	r.End()
}

// workFull: an analysis that makes more than its bound allows is ended.
func workFull(t *testing.T, s sandbox.Supervisor) {
	r := New(t, s, "work-full", "for i in 1 2 3 4 5 6 7 8 9; do echo x >$i; done; sleep 1000")
	r.Job.Bound.Files = 5
	r.Create()
	r.Must(r.Session.Start())
	if exit := r.Wait(); exit.WorkFull == nil || exit.WorkFull.Files <= 5 || !exit.RanFull() || exit.Work.Files < exit.WorkFull.Files {
		t.Errorf("it ended as %+v", exit)
	}
	r.End()
}

const leaves = "umask 022; echo a >a; mkdir d; echo b >d/b; ln -s /etc/passwd link; mkfifo fifo; chmod 0 a; chmod 751 d/b; echo up"

// harvest: every entry has a verdict, and what is no plain file of the analysis is refused.
func harvest(t *testing.T, s sandbox.Supervisor) {
	r := New(t, s, "harvest", leaves)
	r.Job.Links = map[string]string{"own": "/elsewhere"}
	r.Begin()
	if exit := r.Wait(); exit.Work.Files < 5 || exit.Work.Bytes <= 0 {
		t.Errorf("/work had %+v", exit.Work)
	}
	entries, totals := r.Harvest(sandbox.Harvest{})
	checkLeaves(t, entries, totals, r.Job.Ingest)
	r.End()
}

func checkLeaves(t *testing.T, entries map[string]outputs.Entry, totals outputs.Totals, ingest *os.File) {
	t.Helper()
	if len(entries) != 4 || totals.Outputs != 2 || totals.Rejected != 2 || totals.Bytes != 4 {
		t.Errorf("harvested %+v of %+v", totals, entries)
	}
	for path, content := range map[string]string{"a": "a\n", "d/b": "b\n"} {
		e := entries[path]
		got, err := os.ReadFile(filepath.Join(ingest.Name(), e.Ingest))
		if e.Rejected != "" || e.Size != 2 || e.Partial || string(got) != content && !errors.Is(err, unix.EACCES) {
			t.Errorf("%s: %+v with %q (%v)", path, e, got, err)
		}
	}
	for _, path := range []string{"link", "fifo"} {
		if e := entries[path]; e.Rejected == "" || e.SHA256 != "" {
			t.Errorf("%s: %+v", path, e)
		}
	}
}

// harvestEnds: the first error of yield is that of the harvest.
func harvestEnds(t *testing.T, s sandbox.Supervisor) {
	r := New(t, s, "harvest-ends", leaves)
	r.Begin()
	r.Wait()
	enough, yielded := errors.New("enough"), 0
	_, err := r.Session.Harvest(sandbox.Harvest{Bounds: outputs.Bounds{MaxEntries: 100, MaxBytes: 1 << 20}}, func(outputs.Entry) error {
		yielded++
		return enough
	})
	if !errors.Is(err, enough) || yielded != 1 {
		t.Errorf("%v after %d entries", err, yielded)
	}
	r.End()
}

func clean(t *testing.T, s sandbox.Supervisor) {
	r := New(t, s, "clean", leaves)
	r.Begin()
	r.Wait()
	lost, err := r.Session.Clean(r.Job.Work, false, nil)
	if err != nil || len(lost) > 0 {
		t.Errorf("lost %v: %v", lost, err)
	}
	if names, err := r.Job.Work.Readdirnames(-1); err != nil || len(names) > 0 {
		t.Errorf("left are %q: %v", names, err)
	}
	r.End()
}

// keep: what is kept belongs to who owned the working directory before, who may read and write it.
func keep(t *testing.T, s sandbox.Supervisor) {
	r := New(t, s, "keep", leaves)
	var before, after unix.Stat_t
	r.Must(unix.Fstat(int(r.Job.Work.Fd()), &before))
	r.Begin()
	r.Wait()
	r.Harvest(sandbox.Harvest{Link: true})
	lost, err := r.Session.Clean(r.Job.Work, true, r.Job.Ingest)
	if err != nil || len(lost) > 0 {
		t.Errorf("lost %v: %v", lost, err)
	}
	for name, mode := range map[string]uint32{"a": 0o600, "d": 0o755, "d/b": 0o751, "link": 0o777, "fifo": 0o644} {
		err := unix.Fstatat(int(r.Job.Work.Fd()), name, &after, unix.AT_SYMLINK_NOFOLLOW)
		if err != nil || after.Uid != before.Uid || after.Gid != before.Gid || after.Mode&0o777 != mode {
			t.Errorf("%s belongs to %d:%d with the mode %o: %v", name, after.Uid, after.Gid, after.Mode, err)
		}
	}
	r.End()
}

// sessions: the end of one, whatever it is at, is not that of another.
func sessions(t *testing.T, s sandbox.Supervisor) {
	stays := New(t, s, "stays", "trap 'exit 7' TERM; sleep 1000 & echo up; wait")
	stays.Job.Grace = time.Hour
	stays.Begin()
	New(t, s, "bare", "true").End()
	gated := New(t, s, "gated", "echo up")
	gated.Create()
	gated.End()
	running := New(t, s, "running", "trap '' TERM; echo up; sleep 1000")
	running.Begin()
	running.End()
	suspended := New(t, s, "suspended", "echo up; sleep 1000")
	suspended.Begin()
	suspended.Must(suspended.Session.Suspend())
	suspended.End()
	stopping := New(t, s, "stopping", "trap '' TERM; echo up; sleep 1000")
	stopping.Job.Grace = time.Hour
	stopping.Begin()
	stopping.Must(stopping.Session.Stop())
	stopping.End()
	if !stays.Session.Alive() || stays.Session.Died(0) {
		t.Fatal("a session has ended with another")
	}
	stays.Must(stays.Session.Stop())
	if exit := stays.Wait(); exit.Status.ExitStatus() != 7 {
		t.Errorf("the run that went on ended as %+v", exit)
	}
	stays.End()
}

// lost: all sessions of a supervisor that was killed are lost, with their processes, and their end does not wait for anything.
func lost(t *testing.T, launch Launch) {
	s := Launched(t, launch)
	var runs []*Script
	for i := range 4 {
		r := New(t, s, fmt.Sprint("lost-", i), "echo up; sleep 1000")
		r.Begin()
		runs = append(runs, r)
	}
	if err := unix.Kill(s.Pid(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if _, err := r.Session.Wait(sandbox.Watch{Started: func(time.Time) {}, Usage: func(sandbox.Usage) {}}); !errors.Is(err, sandbox.ErrLost) {
			t.Errorf("after a kill Wait returns %v", err)
		}
		if !r.Session.Died(time.Minute) {
			t.Error("a session has not died with its supervisor")
		}
		r.End()
	}
	if s, err := s.Open(); !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("a session in a dead supervisor: %v, %v", s, err)
	}
	if _, err := s.Clean(os.Stdout, false, nil); !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("after a kill Clean returns %v", err)
	}
}

// left: another supervisor harvests and cleans what a run has left whose supervisor was killed.
func left(t *testing.T, launch Launch) {
	dead := Launched(t, launch)
	r := New(t, dead, "left", leaves+"; sleep 1000")
	r.Begin()
	if err := unix.Kill(dead.Pid(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.End()
	s := Launched(t, launch)
	entries := map[string]outputs.Entry{}
	totals, err := s.Harvest(sandbox.Harvest{
		Bounds: outputs.Bounds{MaxEntries: 100, MaxBytes: 1 << 20}, Left: &sandbox.Left{Dir: r.Job.Work, Ingest: r.Job.Ingest, Below: "."},
	}, func(e outputs.Entry) error { entries[string(e.Path)] = e; return nil })
	if err != nil {
		t.Fatal(err)
	}
	checkLeaves(t, entries, totals, r.Job.Ingest)
	if _, err := s.Clean(r.Job.Work, false, nil); err != nil {
		t.Error(err)
	}
	if names, err := r.Job.Work.Readdirnames(-1); err != nil || len(names) > 0 {
		t.Errorf("left are %q: %v", names, err)
	}
}
