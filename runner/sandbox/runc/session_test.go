package runc

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor/procs"
	"github.com/scidex-ai/scidex-oci/spec"
)

// TestSessionEndsAlone ends runs in all that they can be at; another goes on.
func TestSessionEndsAlone(t *testing.T) {
	s := launched(t)
	stays := newRun(t, s, "stays", "trap 'exit 7' TERM; sleep 1000 & echo up; wait", time.Hour)
	stays.begin()
	before := steady(t, s)

	bare := newRun(t, s, "bare", "true", 0)
	waited := make(chan error)
	go func() {
		_, err := bare.session.Wait(sandbox.Watch{})
		waited <- err
	}()
	bare.end()
	if err := <-waited; !errors.Is(err, errLeft) {
		t.Errorf("who waits for a run whose session is closed hears %v", err)
	}
	gated := newRun(t, s, "gated", "echo up", 0)
	gated.create()
	gated.end()
	running := newRun(t, s, "running", "trap '' TERM; echo up; sleep 1000", 0)
	running.begin()
	running.end()
	suspended := newRun(t, s, "suspended", "echo up; sleep 1000", 0)
	suspended.begin()
	suspended.good(suspended.session.Suspend())
	suspended.end()
	stopping := newRun(t, s, "stopping", "trap '' TERM; echo up; sleep 1000", time.Hour)
	stopping.begin()
	stopping.good(stopping.session.Stop())
	stopping.end()

	untilWithin(t, before, s)
	if !stays.session.Alive() {
		t.Fatal("a session has ended with another")
	}
	stays.good(stays.session.Stop())
	if exit := stays.wait(); exit.Status.ExitStatus() != 7 {
		t.Errorf("the run that went on ended with %d, want 7", exit.Status.ExitStatus())
	}
}

// TestSessionGivesBackWhatItTook runs many in one supervisor, some at the same time.
func TestSessionGivesBackWhatItTook(t *testing.T) {
	s := launched(t)
	through := func(from, to int) {
		var all sync.WaitGroup
		for worker := range 4 {
			all.Go(func() {
				for i := from + worker; i < to; i += 4 {
					r := newRun(t, s, fmt.Sprint("many-", i), "echo up >file; echo up", 0)
					r.begin()
					if exit := r.wait(); exit.Status.ExitStatus() != 0 {
						t.Errorf("run %d ended with %d", i, exit.Status.ExitStatus())
					}
					r.harvest()
					r.end()
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

// TestSessionsOfAKilledSupervisor are lost, all of them, and their end does not wait for anything.
func TestSessionsOfAKilledSupervisor(t *testing.T) {
	s := launched(t)
	var runs []*testRun
	for i := range 4 {
		r := newRun(t, s, fmt.Sprint("lost-", i), "echo up; sleep 1000", 0)
		r.begin()
		runs = append(runs, r)
	}
	if err := s.host.process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if _, err := r.session.Wait(sandbox.Watch{Started: func(time.Time) {}, Usage: func(sandbox.Usage) {}}); !errors.Is(err, sandbox.ErrLost) {
			t.Errorf("after a kill Wait says %v, want ErrLost", err)
		}
		r.end()
		if unix.Kill(r.pid, 0) == nil {
			t.Errorf("process %d of a run lives after its supervisor", r.pid)
		}
	}
	if s, err := s.Open(); !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("a session in a dead supervisor: %v, %v", s, err)
	}
}

// TestSessionWithoutDescriptors opens sessions in a supervisor that has few descriptors left, so that it fails at one
// place after the other: each is told, and the run beside goes on.
func TestSessionWithoutDescriptors(t *testing.T) {
	s := launched(t)
	stays := newRun(t, s, "stays", "trap 'exit 7' TERM; sleep 1000 & echo up; wait", time.Hour)
	// Without surveys of /work, which take descriptors: a run that cannot be surveyed is ended.
	stays.job.WorkTmpfs = []string{"size=1048576"}
	stays.begin()
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
			if err := session.Close(); err != nil || !stays.session.Alive() {
				t.Fatalf("%d spare: closing it: %v, or the end of another", spare, err)
			}
		}
	}
	if failed < 3 {
		t.Errorf("%d sessions have failed", failed)
	}
	untilWithin(t, before, s)
	stays.good(stays.session.Stop())
	if exit := stays.wait(); exit.Status.ExitStatus() != 7 {
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
	crowd := newRun(t, s, "crowd", many, 0)
	crowd.begin()
	crowd.sample(11)
	alone := newRun(t, s, "alone", "echo up; exec sleep 1000", 0)
	alone.begin()
	if got := alone.sample(1); got.Processes != 2 {
		t.Errorf("a run beside another has %d processes, want its init and one", got.Processes)
	}
	if os.Geteuid() == 0 || !s.host.account.HasRange() { // else only the supervisor may look
		for r, want := range map[*testRun]int{crowd: 1, alone: 0} {
			list, err := procs.Unnamed(fmt.Sprintf("/proc/%d/root/proc", r.pid), []string{"/work"}, 10)
			if err != nil || len(list) != want {
				t.Errorf("%s: %d unnamed files are open (%v), want %d", r.id, len(list), err, want)
			}
		}
	}
	crowd.end() // while somebody waits for what comes next
	if !alone.session.Alive() {
		t.Error("the end of a run was the supervisor's")
	}
	alone.end()
}

// sample waits until the supervisor counts so many processes; then the run can only be ended.
func (r *testRun) sample(least int64) sandbox.Usage {
	counted := make(chan sandbox.Usage, 1000)
	go func() {
		defer close(counted)
		_, _ = r.session.Wait(sandbox.Watch{Started: func(time.Time) {}, Usage: func(u sandbox.Usage) { counted <- u }}) // until it is closed
	}()
	for u := range counted {
		if u.Processes >= least {
			return u
		}
	}
	r.good(errors.New("no sample came"))
	return sandbox.Usage{}
}

func launched(t *testing.T) *supervisor {
	t.Helper()
	account, err := idmap.ReadAccount()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Launch(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(*supervisor)
}

// testRun is a shell script in a session.
type testRun struct {
	t            *testing.T
	session      *session
	id           string
	job          sandbox.Job
	work, ingest *os.File
	created      *sandbox.Created
	pid          int
}

func newRun(t *testing.T, s *supervisor, id, script string, grace time.Duration) *testRun {
	t.Helper()
	r := &testRun{t: t, id: id}
	opened, err := s.Open()
	r.good(err)
	r.session = opened.(*session)
	t.Cleanup(func() { r.session.Close() })
	r.work, r.ingest = r.directory(s.host.account), r.directory(s.host.account)
	slot, err := s.host.account.AcquireSlot(false)
	r.good(err)
	t.Cleanup(func() { _ = slot.Release() })
	tree, err := rootfs.Host("/", 1000)
	r.good(err)
	maps, uid := []specs.LinuxIDMapping{{Size: 1}}, uint32(0)
	if s.host.account.HasRange() {
		uid = 1000
		maps = []specs.LinuxIDMapping{{HostID: uint32(slot.Container), Size: 1}, {ContainerID: 1000, HostID: uint32(slot.Analysis), Size: 1}}
	}
	place := spec.Placement{
		Root: "/", Work: "/work", UIDMappings: maps, GIDMappings: maps, UID: uid, GID: uid, NoFile: 1024,
		Command: []string{"/bin/sh", "-c", script}, Unfiltered: true,
	}
	for _, b := range tree.Binds {
		place.Binds = append(place.Binds, spec.Bind{Source: b.Source, Destination: b.Destination})
	}
	r.job = sandbox.Job{
		ID: id, Tree: tree, Work: r.work, Ingest: r.ingest, WorkPath: r.work.Name(), WorkDirs: []string{"/work"}, Owner: slot.Analysis,
		Bound: outputs.Extent{Files: 1000, Bytes: 1 << 30}, Timeout: time.Hour, Grace: grace,
	}
	r.job.Spec, err = spec.OCI(spec.Analysis{ID: id, Command: place.Command}, place)
	r.good(err)
	return r
}

func (r *testRun) good(err error) {
	if err != nil {
		_, _, line, _ := runtime.Caller(1)
		r.t.Fatalf("%s, line %d: %v", r.id, line, err)
	}
}

// directory is one that the supervisor may do anything with.
func (r *testRun) directory(a idmap.Account) *os.File {
	r.t.Helper()
	dir, err := os.Open(r.t.TempDir())
	r.good(err)
	r.good(dir.Chown(a.HostUID(0), a.HostGID(0)))
	r.t.Cleanup(func() { dir.Close() })
	return dir
}

func (r *testRun) create() {
	r.t.Helper()
	var err error
	r.created, err = r.session.Create(r.job)
	r.good(err)
	r.pid = r.created.Pid
}

// createWith makes the container with another filter of system calls.
func (r *testRun) createWith(program []byte) (err error) {
	packed, err := r.session.pack(r.job)
	r.good(err)
	packed.job.Filter = program
	r.created, err = r.session.create(packed.job, packed.files)
	r.good(packed.close())
	if err == nil {
		r.pid = r.created.Pid
	}
	return err
}

// begin waits until the script has said that it is up.
func (r *testRun) begin() {
	r.t.Helper()
	r.create()
	r.good(r.session.Start())
	line, err := bufio.NewReader(r.created.Stdout).ReadString('\n')
	r.good(err)
	if line != "up\n" {
		r.good(fmt.Errorf("it said %q", line))
	}
}

func (r *testRun) wait() sandbox.Exit {
	exit, err := r.session.Wait(sandbox.Watch{Started: func(time.Time) {}, Usage: func(sandbox.Usage) {}})
	r.good(err)
	return exit
}

func (r *testRun) harvest() {
	bounds := outputs.Bounds{MaxEntries: 10, MaxBytes: 1 << 20}
	totals, err := r.session.Harvest(sandbox.Harvest{Bounds: bounds}, func(outputs.Entry) error { return nil })
	r.good(err)
	if totals.Outputs != 1 {
		r.good(fmt.Errorf("%+v was harvested", totals))
	}
	_, err = r.session.Clean(r.work, false, nil)
	r.good(err)
}

// end ends the session; no process may live after it.
func (r *testRun) end() {
	r.t.Helper()
	r.good(r.session.Close())
	if r.created != nil {
		r.good(r.created.Close())
		if unix.Kill(r.pid, 0) == nil {
			r.t.Errorf("%s: process %d lives after the end of its session", r.id, r.pid)
		}
	}
	if r.session.Alive() {
		r.t.Errorf("%s is alive after its end", r.id)
	}
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
