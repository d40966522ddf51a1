package sandboxtest

import (
	"bufio"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Script is a shell script on the host's programs, in a session of its own. Change Job before Create.
type Script struct {
	Session sandbox.Session
	Job     sandbox.Job
	Created *sandbox.Created // nil before Create

	t testing.TB
}

// New opens a session for a script, which may take an hour and has no grace period.
func New(t testing.TB, s sandbox.Supervisor, id, script string) *Script {
	t.Helper()
	r := &Script{t: t}
	var err error
	r.Session, err = s.Open()
	r.Must(err)
	t.Cleanup(func() { r.Session.Close() })
	account := Account(t)
	work, ingest := r.directory(account), r.directory(account)
	slot, err := account.AcquireSlot(false)
	r.Must(err)
	t.Cleanup(func() { _ = slot.Release() })
	tree, err := rootfs.Host("/", 1000)
	r.Must(err)
	r.Job = sandbox.Job{
		ID: id, Tree: tree, Work: work, Ingest: ingest, WorkPath: work.Name(), WorkDirs: []string{"/work"}, Owner: slot.Analysis,
		Bound: outputs.Extent{Files: 1000, Bytes: 1 << 30}, Timeout: time.Hour,
	}
	place := placement(account, slot, tree)
	place.Command = []string{"/bin/sh", "-c", script}
	r.Job.Spec, err = spec.OCI(spec.Analysis{ID: id, Command: place.Command}, place)
	r.Must(err)
	return r
}

// placement is where the analysis runs, and as whom.
func placement(account idmap.Account, slot idmap.Slot, tree rootfs.Tree) spec.Placement {
	maps, uid := []specs.LinuxIDMapping{{Size: 1}}, uint32(0)
	if account.HasRange() {
		uid = 1000
		maps = []specs.LinuxIDMapping{{HostID: uint32(slot.Container), Size: 1}, {ContainerID: 1000, HostID: uint32(slot.Analysis), Size: 1}}
	}
	place := spec.Placement{Root: "/", Work: "/work", UIDMappings: maps, GIDMappings: maps, UID: uid, GID: uid, NoFile: 1024, Unfiltered: true}
	for _, b := range tree.Binds {
		place.Binds = append(place.Binds, spec.Bind{Source: b.Source, Destination: b.Destination})
	}
	return place
}

// Account is the caller's account.
func Account(t testing.TB) idmap.Account {
	t.Helper()
	account, err := idmap.ReadAccount()
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// directory is one that the supervisor may do anything with.
func (r *Script) directory(a idmap.Account) *os.File {
	r.t.Helper()
	dir, err := os.Open(r.t.TempDir())
	r.Must(err)
	r.Must(dir.Chown(a.HostUID(0), a.HostGID(0)))
	r.t.Cleanup(func() { dir.Close() })
	return dir
}

// Must ends the test at an error.
func (r *Script) Must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%s: %v", r.Job.ID, err)
	}
}

// Create makes the container, up to its gate.
func (r *Script) Create() {
	r.t.Helper()
	var err error
	r.Created, err = r.Session.Create(r.Job)
	r.Must(err)
}

// Begin starts the script, and waits until it has said that it is up.
func (r *Script) Begin() {
	r.t.Helper()
	r.Create()
	r.Must(r.Session.Start())
	line, err := bufio.NewReader(r.Created.Stdout).ReadString('\n')
	r.Must(err)
	if line != "up\n" {
		r.Must(fmt.Errorf("it said %q", line))
	}
}

// Wait waits for the end of a script that was started.
func (r *Script) Wait() sandbox.Exit {
	r.t.Helper()
	exit, err := r.Session.Wait(sandbox.Watch{Started: func(time.Time) {}, Usage: func(sandbox.Usage) {}})
	r.Must(err)
	return exit
}

// Harvest harvests what the script has left, by its paths.
func (r *Script) Harvest(h sandbox.Harvest) (map[string]outputs.Entry, outputs.Totals) {
	r.t.Helper()
	h.Bounds = outputs.Bounds{MaxEntries: 100, MaxBytes: 1 << 20}
	entries := map[string]outputs.Entry{}
	totals, err := r.Session.Harvest(h, func(e outputs.Entry) error { entries[string(e.Path)] = e; return nil })
	r.Must(err)
	return entries, totals
}

// End ends the session; no process may live after it.
func (r *Script) End() {
	r.t.Helper()
	r.Must(r.Session.Close())
	if r.Created != nil {
		r.Must(r.Created.Close())
		if unix.Kill(r.Created.Pid, 0) == nil {
			r.t.Errorf("%s: process %d lives after the end of its session", r.Job.ID, r.Created.Pid)
		}
	}
	if r.Session.Alive() {
		r.t.Errorf("%s is alive after its end", r.Job.ID)
	}
}
