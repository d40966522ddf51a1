package forks

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/container"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor/forks/proof"
)

// Fork is an analysis that was forked from a template: a process of its container, and the supervisor's child. The methods of nil
// are those of a run without one.
type Fork struct {
	pid   int
	proc  string   // of its container
	mnt   *os.File // its mount namespace: open, so that no other has its number
	pidfd *os.File
	gate  *os.File      // the analysis begins when a byte comes
	ended chan struct{} // closed when it is reaped
	state unix.WaitStatus
	used  unix.Rusage
	leave func() // the template's audit
}

// Take forks an analysis into its container, where it waits at its gate, and returns its note. Where there is no template the
// fork is nil, and the note says why. What cannot be proved ends the template.
func (o *Origin) Take(target Target) (*Fork, string) {
	t := o.current()
	if t == nil {
		return nil, protocol.Cold(errors.New("there is no template any more"))
	}
	f, note, err := t.fork(target)
	if err != nil {
		return nil, protocol.Cold(errors.Join(err, t.quell(target)))
	}
	if !protocol.Ready(note) {
		f.discard()
		return nil, note
	}
	return f, note
}

// discard kills the process, where there is one.
func (f *Fork) discard() {
	if f != nil {
		f.kill()
	}
}

// fork orders a process in the container of an analysis, proves what it is, and returns it with its note.
func (t *Template) fork(target Target) (_ *Fork, note string, err error) {
	order, err := newOrder(target)
	if err != nil {
		return nil, protocol.Cold(err), nil // no fault of the template's
	}
	defer order.close() //nolint:errcheck // nothing was written
	f, err := t.obey(order)
	if err != nil {
		return nil, "", err
	}
	note, _ = protocol.ReadNote(order.note[0], protocol.NoteMax, longestFork)
	if err := t.judge(f.pid, order, note); err != nil {
		f.kill()
		return nil, "", fmt.Errorf("the forked process is not as it must be: %w", err)
	}
	return f, note, nil
}

// judge says whether a fork may be used, or its command started anew without a doubt about the template.
func (t *Template) judge(pid int, o *order, note string) error {
	t.ordering.Lock() // what joins a container for another order would count as left
	defer t.ordering.Unlock()
	switch {
	case protocol.Ready(note):
		return t.prove(pid, o)
	case protocol.IsCold(note):
		return t.unchanged()
	}
	return errors.New("it has not said that it is ready")
}

// prove compares the process with what an analysis must be, then its template with what that was, and gives the process its limits. It
// comes first: when it has nothing any more by which it could speak with its template, that has nothing of it to hide there.
func (t *Template) prove(pid int, o *order) error {
	err := o.prove(pid, t.pid, t.noted.Mappings())
	if err == nil {
		err = t.unchanged()
	}
	if err != nil {
		return err
	}
	return o.limit(pid)
}

// obey has the template do as ordered, if no file has changed that it has in memory.
func (t *Template) obey(o *order) (_ *Fork, err error) {
	t.ordering.Lock()
	defer t.ordering.Unlock()
	if err := t.sources.Same(); err != nil {
		return nil, err
	}
	leave := func() {}
	if o.Audit != nil {
		if leave, err = t.origin.join(o.init, o.Audit); err != nil {
			return nil, err
		}
	}
	pid, err := t.order(o)
	if err == nil {
		err = proof.Child(pid, o.init) // else it is not ours to reap
	}
	if err == nil {
		err = o.restrict(pid) // before reap, which would take its stops for its end
	}
	if err != nil {
		leave()
		return nil, err
	}
	f, err := t.newFork(pid, o.takeGate(), leave)
	o.letGo()
	if err != nil {
		return nil, err
	}
	f.proc = o.Proc
	if f.mnt, err = os.Open(fmt.Sprintf("/proc/%d/ns/mnt", o.init)); err != nil {
		f.kill()
	}
	return f, err
}

func (t *Template) newFork(pid int, gate *os.File, leave func()) (*Fork, error) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		leave()
		return nil, errors.Join(fmt.Errorf("pidfd_open: %w", err), gate.Close())
	}
	f := &Fork{pid: pid, pidfd: os.NewFile(uintptr(pidfd), "pidfd"), gate: gate, ended: make(chan struct{}), leave: leave}
	t.origin.forked(pid)
	go func() {
		f.reap()
		t.origin.reaped(pid)
		close(f.ended)
	}()
	return f, nil
}

// reap waits for the end of the process.
func (f *Fork) reap() {
	for {
		if _, err := unix.Wait4(f.pid, &f.state, unix.WALL, &f.used); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// kill ends the process before it begins.
func (f *Fork) kill() {
	_ = unix.PidfdSendSignal(int(f.pidfd.Fd()), unix.SIGKILL, nil, 0)
	<-f.ended
	f.close()
}

func (f *Fork) close() {
	f.leave()
	protocol.Discard([]*os.File{f.pidfd, f.gate, f.mnt})
}

// Files are what the launcher gets: a descriptor of the process, which it moves into the control group.
func (f *Fork) Files() []*os.File {
	if f == nil {
		return nil
	}
	return []*os.File{f.pidfd}
}

// Begin lets the analysis begin, and has the container end with it.
func (f *Fork) Begin(c *container.Container) {
	if f == nil {
		return
	}
	_, _ = f.gate.Write([]byte{1}) // where it is dead, it is reaped
	go func() {
		<-f.ended
		_ = c.Ended(syscall.WaitStatus(f.state)) // a container that has ended needs none
	}()
}

// Undisturbed checks that the process is alone in its container, if it has not ended, when it is in its control group: what it had
// started before would stay in its template's.
func (f *Fork) Undisturbed() error {
	if f == nil {
		return nil
	}
	return proof.AtMostPair(f.proc)
}

// Deserted checks that nothing can write to the file systems of an analysis that has ended.
func (f *Fork) Deserted() error {
	if f == nil {
		return nil
	}
	within, err := proof.Within(f.mnt)
	for _, pid := range within {
		killStray(pid)
		err = errors.Join(err, fmt.Errorf("process %d of its template was in its file systems after its end", pid))
	}
	return err
}

// End returns the processor time and the greatest resident set, in bytes, of an analysis whose container has ended.
func (f *Fork) End() (cpu time.Duration, peak int64) {
	if f == nil {
		return 0, 0
	}
	<-f.ended
	f.close()
	return time.Duration(f.used.Utime.Nano() + f.used.Stime.Nano()), f.used.Maxrss << 10
}
