package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/scidex-ai/scidex-oci/runner/host/threads"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/container"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor/procs"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor/rootmount"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor/scratch"
	"github.com/scidex-ai/scidex-oci/spec/reach"
)

// run is everything that one run has in the supervisor. Its fields are set one after the other by create, which may fail at
// each of them.
type run struct {
	launcher launcher
	tasks    *sync.WaitGroup // the session's

	job      *protocol.Job
	work     workdir
	hold     *os.File // kept open while anything of the run lives
	area     rootmount.Area
	reach    reach.Places
	analysis *analysis // nil until there is a container
}

// create makes a job's container, up to its first instruction.
func (r *run) create(ctx context.Context, job *protocol.Job, files []*os.File) error {
	r.job = job
	if len(files) < 2 {
		protocol.Discard(files)
		return fmt.Errorf("job %q came with %d descriptors", job.ID, len(files))
	}
	r.work = workdir{job: job, dir: files[0], ingest: files[1]}
	placed := r.launcher.span("make /work ready")
	files, err := r.work.prepare(ctx, files)
	placed()
	defer func() { protocol.Discard(files[2:]) }()
	if err != nil {
		return err
	}
	if i := job.Files.Hold; protocol.Given(files, i) != nil {
		r.hold, files[i] = files[i], nil
	}
	r.reach = reach.Of(job.Spec) // before its mounts are made, and taken out of it
	binds, err := r.stage(files)
	if err != nil {
		return fmt.Errorf("stage the file systems: %w", err)
	}
	streams, err := newStreams(job.Owner, protocol.Given(files, job.Files.Stdin))
	if err != nil {
		return err
	}
	defer func() { protocol.Discard(streams.child()) }() // the container has its own
	if err = r.contain(streams); err == nil {
		err = r.created(binds, streams)
	}
	return errors.Join(err, closeAll(streams.parent()))
}

// created hands the container at its gate to the launcher.
func (r *run) created(binds sandbox.BindReport, streams *streams) error {
	files := []*os.File{r.analysis.container.Pidfd(), streams.stdout[0], streams.stderr[0]}
	if r.job.Listen != 0 {
		pid, err := r.analysis.container.Pid()
		if err != nil {
			return err
		}
		socket, err := listen(pid, r.job.Listen)
		if err != nil {
			return err
		}
		defer socket.Close() // only the proxy has it, so that nothing listens when that has ended
		files = append(files, socket)
	}
	return r.launcher.reply(protocol.Message{Type: protocol.MsgCreated, Binds: binds}, files...)
}

// stage mounts the root filesystem with everything in it.
func (r *run) stage(files []*os.File) (binds sandbox.BindReport, err error) {
	staged := r.launcher.span("stage the root filesystem and the binds")
	if r.area, err = rootmount.NewArea(r.job.ID); err != nil {
		return binds, err
	}
	binds, err = r.area.Stage(r.job, files)
	staged()
	return binds, err
}

// contain makes the container.
func (r *run) contain(streams *streams) error {
	created := r.launcher.span("create the container")
	note, noted, err := newNote(r.job)
	if err != nil {
		return err
	}
	defer noted.Close() // the container has its own
	c, err := container.Create(container.Config{
		ID: r.job.ID, StateDir: r.area.State(), Spec: r.job.Spec, Filter: r.job.Filter, Audit: r.job.Audit,
		FixedAddresses: r.job.FixedAddresses,
		Reach:          r.reach,
		Terminal:       r.job.Terminal,
		Ahead:          r.job.Ahead, Note: noted,
		Stdin: streams.stdin, Stdout: streams.stdout[1], Stderr: streams.stderr[1],
		Trace: r.launcher.trace,
	})
	created()
	if err != nil {
		note.Close()
		return err
	}
	r.analysis = newAnalysis(r, c)
	r.analysis.early, err = r.newEarly(note)
	// The container has its own copies of these mounts. Here, every new container's mount namespace would copy them, and
	// they would keep what is in a /tmp. The kernel takes time for each; an error recurs at the session's end and is
	// reported then.
	r.tasks.Go(func() { _ = r.area.Unmount() })
	if r.job.Crowded {
		threads.Reserve()
	}
	pid, failed := c.Pid()
	if err = errors.Join(err, failed); err == nil {
		r.analysis.scratch = scratch.Open(pid, r.job.Scratch)
		r.analysis.proc, err = procs.Open(pid)
	}
	if err == nil && r.job.FixedAddresses {
		r.analysis.fixed, err = c.FixedAddresses()
	}
	return err
}

// end kills every process of the run and waits for its end.
func (r *run) end() error {
	if r.analysis == nil {
		return nil
	}
	return r.analysis.end()
}

// close frees what an ended run has.
func (r *run) close() error {
	var proc *os.File
	if r.analysis != nil {
		r.analysis.container.Close()
		r.analysis.scratch.Close()
		r.analysis.early.close()
		proc = r.analysis.proc
	}
	protocol.Discard([]*os.File{r.work.dir, r.work.disk, r.work.ingest, r.hold, proc})
	return r.area.Remove()
}
