package runc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor/procs"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/sandboxtest"
)

// TestSessionEndedEarly ends runs in all that they can be at; nothing of them is left.
func TestSessionEndedEarly(t *testing.T) {
	s := launched(t)
	first := sandboxtest.New(t, s, "first", "echo up") // opens what the Go runtime keeps
	first.Begin()
	first.End()
	before := steady(t, s)
	bare := sandboxtest.New(t, s, "bare", "true")
	waited := make(chan error)
	go func() {
		_, err := bare.Session.Wait(sandbox.Watch{})
		waited <- err
	}()
	bare.End()
	if err := <-waited; !errors.Is(err, errLeft) {
		t.Errorf("Wait for a run whose session is closed returns %v", err)
	}
	gated := sandboxtest.New(t, s, "gated", "echo up")
	gated.Create()
	gated.End()
	suspended := sandboxtest.New(t, s, "suspended", "echo up; sleep 1000")
	suspended.Begin()
	suspended.Must(suspended.Session.Suspend())
	suspended.End()
	untilWithin(t, before, s)
}

// TestSessionGivesBackWhatItTook runs many in one supervisor, some at the same time.
func TestSessionGivesBackWhatItTook(t *testing.T) {
	s := launched(t)
	through := func(from, to int) {
		var all sync.WaitGroup
		for worker := range 4 {
			all.Go(func() {
				for i := from + worker; i < to; i += 4 {
					r := sandboxtest.New(t, s, fmt.Sprint("many-", i), "echo up >file; echo up")
					r.Begin()
					if exit := r.Wait(); !exit.Succeeded() {
						t.Errorf("run %d ended as %+v", i, exit)
					}
					if _, totals := r.Harvest(sandbox.Harvest{}); totals.Outputs != 1 {
						t.Errorf("%+v was harvested", totals)
					}
					_, err := r.Session.Clean(r.Job.Work, false, nil)
					r.Must(err)
					r.End()
				}
			})
		}
		all.Wait()
	}
	through(0, 4)
	before := steady(t, s)
	through(4, 40)
	untilWithin(t, before, s)
}

// TestSessionWithoutDescriptors opens sessions in a supervisor that has few descriptors left, so that it fails at one
// place after the other: each is told, and the run beside goes on.
func TestSessionWithoutDescriptors(t *testing.T) {
	s := launched(t)
	stays := sandboxtest.New(t, s, "stays", "trap 'exit 7' TERM; sleep 1000 & echo up; wait")
	stays.Job.Grace = time.Hour
	// Without surveys of /work, which take descriptors: a run that cannot be surveyed is ended.
	stays.Job.WorkTmpfs = []string{"size=1048576"}
	stays.Begin()
	before := steady(t, s)
	var limit unix.Rlimit
	if err := unix.Prlimit(s.Pid(), unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for spare := range 12 {
		few := unix.Rlimit{Cur: leaving(t, s.Pid(), spare), Max: limit.Max}
		if err := unix.Prlimit(s.Pid(), unix.RLIMIT_NOFILE, &few, nil); err != nil {
			t.Fatal(err)
		}
		told := make(chan error, 1)
		var session sandbox.Session
		var err error
		go func() {
			var err error
			if session, err = s.Open(); err == nil {
				err = ask(t, session)
			}
			told <- err
		}()
		select {
		case err = <-told:
		case <-time.After(time.Minute):
			t.Fatalf("%d spare: a run waits for what never comes", spare)
		}
		if err != nil {
			failed++
			t.Logf("%d spare: %v", spare, err)
		}
		if errors.Is(err, sandbox.ErrLost) {
			t.Fatalf("%d spare: %v", spare, err)
		}
		if err := unix.Prlimit(s.Pid(), unix.RLIMIT_NOFILE, &limit, nil); err != nil {
			t.Fatal(err)
		}
		if session != nil {
			if err := session.Close(); err != nil || !stays.Session.Alive() {
				t.Fatalf("%d spare: closing it: %v, or the end of another", spare, err)
			}
		}
	}
	if failed < 3 {
		t.Errorf("%d sessions have failed", failed)
	}
	untilWithin(t, before, s)
	stays.Must(stays.Session.Stop())
	if exit := stays.Wait(); exit.Status.ExitStatus() != 7 {
		t.Errorf("the run that went on ended with %d, want 7", exit.Status.ExitStatus())
	}
}

// leaving is the limit of descriptors that leaves a process so many more.
func leaving(t *testing.T, pid, spare int) (limit uint64) {
	for ; ; limit++ {
		_, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, limit))
		switch {
		case err == nil:
		case !errors.Is(err, fs.ErrNotExist):
			t.Fatal(err)
		case spare == 0:
			return limit
		default:
			spare--
		}
	}
}

// ask asks for something that comes with descriptors.
func ask(t *testing.T, session sandbox.Session) error {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		return err
	}
	defer dir.Close()
	left := &sandbox.Left{Dir: dir, Ingest: dir, Below: "missing"}
	_, err = session.Harvest(sandbox.Harvest{Left: left}, func(outputs.Entry) error { return nil })
	if err != nil && strings.Contains(err.Error(), unix.ENOENT.Error()) {
		return nil // it came as far as that
	}
	return err
}

// TestUsageIsOfOneRun: what is counted, or found to be open, is not that of a run beside it.
func TestUsageIsOfOneRun(t *testing.T) {
	s := launched(t)
	const many = "exec 3>gone; rm gone; head -c 1000000 /dev/zero >&3; for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; echo up; wait"
	crowd := sandboxtest.New(t, s, "crowd", many)
	crowd.Begin()
	sample(crowd, 11)
	alone := sandboxtest.New(t, s, "alone", "echo up; exec sleep 1000")
	alone.Begin()
	if got := sample(alone, 1); got.Processes != 2 {
		t.Errorf("a run beside another has %d processes, want its init and one", got.Processes)
	}
	if os.Geteuid() == 0 || !s.process.account.HasRange() { // else only the supervisor may look
		for r, want := range map[*sandboxtest.Script]int{crowd: 1, alone: 0} {
			list, err := procs.Unnamed(fmt.Sprintf("/proc/%d/root/proc", r.Created.Pid), []string{"/work"}, 10)
			if err != nil || len(list) != want {
				t.Errorf("%s: %d unnamed files are open (%v), want %d", r.Job.ID, len(list), err, want)
			}
		}
	}
	crowd.End() // while somebody waits for what comes next
	if !alone.Session.Alive() {
		t.Error("the end of a run was the supervisor's")
	}
	alone.End()
}

// sample waits until the supervisor counts so many processes; then the run can only be ended.
func sample(r *sandboxtest.Script, least int64) sandbox.Usage {
	counted := make(chan sandbox.Usage, 1000)
	go func() {
		defer close(counted)
		_, _ = r.Session.Wait(sandbox.Watch{Started: func(time.Time) {}, Usage: func(u sandbox.Usage) { counted <- u }}) // until it is closed
	}()
	for u := range counted {
		if u.Processes >= least {
			return u
		}
	}
	r.Must(errors.New("no sample came"))
	return sandbox.Usage{}
}

func launched(t *testing.T) *supervisor {
	t.Helper()
	return sandboxtest.Launched(t, Launch).(*supervisor)
}

// traces counts what runs may leave in a supervisor.
type traces struct{ descriptors, mounts, places, processes int }

// within reports whether none of the counts is greater than in bound.
func (a traces) within(bound traces) bool {
	return a.descriptors <= bound.descriptors && a.mounts <= bound.mounts && a.places <= bound.places && a.processes <= bound.processes
}

func tracesOf(t *testing.T, s *supervisor) traces {
	t.Helper()
	proc := fmt.Sprintf("/proc/%d", s.Pid())
	fds, err := os.ReadDir(proc + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := os.ReadFile(proc + "/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	area, err := os.ReadDir(proc + "/root" + protocol.StageDir)
	if err != nil {
		t.Fatal(err)
	}
	children, err := filepath.Glob(proc + "/root/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	return traces{len(fds), strings.Count(string(mounts), "\n"), len(area), len(children)}
}

// steady returns the traces once they have stayed the same for a while: what a start has opened is closed by then. On a
// busy machine some of it may still be there.
func steady(t *testing.T, s *supervisor) traces {
	t.Helper()
	last := tracesOf(t, s)
	for same := 0; same < 30; same++ {
		time.Sleep(10 * time.Millisecond)
		if now := tracesOf(t, s); now != last {
			last, same = now, 0
		}
	}
	return last
}

// untilWithin waits for what the Go runtime or the kernel closes a moment later.
func untilWithin(t *testing.T, bound traces, s *supervisor) {
	t.Helper()
	got := tracesOf(t, s)
	for deadline := time.Now().Add(2 * time.Minute); !got.within(bound) && time.Now().Before(deadline); got = tracesOf(t, s) {
		time.Sleep(10 * time.Millisecond)
	}
	if !got.within(bound) {
		t.Errorf("the supervisor has %+v; before it had %+v", got, bound)
	}
}
