package forks

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/audit"
	"github.com/scidex-ai/scidex-oci/runner/container"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor/forks/proof"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor/forks/sources"
)

// Template is an interpreter that has imported modules, from which analyses are forked.
type Template struct {
	origin    *Origin
	container *container.Container
	pid       int
	note      *os.File // what it has imported
	control   *os.File // its orders
	sources   *sources.Sources
	noted     *proof.Template // what it was when it began to serve
	audit     *audit.Watch
	joining   joining
	ordering  sync.Mutex    // one order at a time
	ended     chan struct{} // closed when it is dead, once it was started
	started   bool
	lost      func()
}

// New makes the container of a template, up to its gate. Spec is a container.TemplateSpec. lost is called when nobody answers any
// more for what the template and its forks ask (package audit): it must end them all.
func New(origin *Origin, cfg container.Config, lost func()) (*Template, error) {
	control, orders, err := controlPair()
	if err != nil {
		return nil, err
	}
	defer orders.Close()
	note, noted, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, control.Close())
	}
	defer noted.Close()
	cfg.Note, cfg.Control = noted, orders
	c, err := container.Create(cfg)
	if err != nil {
		return nil, errors.Join(err, note.Close(), control.Close())
	}
	t := &Template{origin: origin, container: c, note: note, control: control, ended: make(chan struct{}), lost: lost}
	t.pid, err = c.Pid()
	return t, err
}

// controlPair makes the socket of orders: one message each, with descriptors.
func controlPair() (own, its *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "orders"), os.NewFile(uintptr(fds[1]), "orders"), nil
}

// Pidfd is the template's; it owns it.
func (t *Template) Pidfd() *os.File { return t.container.Pidfd() }

// Start opens the gate. Wait and Learn follow, beside each other.
func (t *Template) Start() error {
	err := t.container.Start()
	t.started = err == nil
	return err
}

// Wait waits until the template is dead.
func (t *Template) Wait() (container.Exit, error) {
	defer close(t.ended)
	defer t.origin.unset(t)
	return t.container.Wait(container.Watch{
		Audited: func(notifications *os.File) {
			forks := &audit.Forks{MayJoin: t.joining.allowed, WatchOf: t.origin.watchOf}
			t.audit = audit.StartTemplate(notifications, t.lost, forks)
		},
		Executed: func() {},
	})
}

// Learn waits until the template is ready or of no use, returns its note, and has it serve if it is ready.
func (t *Template) Learn() (note string) {
	said, _ := protocol.ReadNote(t.note, sources.MaxNote, protocol.LongestAhead)
	note, files, _ := strings.Cut(said, "\n\n")
	if !protocol.Ready(note) {
		return note
	}
	if err := t.serve(strings.Split(files, "\n")); err != nil {
		return protocol.Cold(err)
	}
	return note
}

// settling bounds how long a template may take from its note until it serves.
const settling = 5 * time.Second

// templateFilters are the filters of system calls of a template (initc/src/template.c).
const templateFilters = 2

// serve lets analyses be forked from it. It has read the files.
func (t *Template) serve(files []string) (err error) {
	if t.noted, err = proof.NoteTemplate(t.pid, templateFilters, time.Now().Add(settling)); err == nil {
		err = proof.Alone(t.known())
	}
	if err != nil {
		return err
	}
	if t.sources, err = sources.Note(t.pid, files); err != nil {
		return err
	}
	t.origin.set(t)
	return nil
}

// unchanged checks that the template is as it was, and nothing is left by it but forks.
func (t *Template) unchanged() error {
	return t.noted.Unchanged(func() error { return proof.Alone(t.known()) })
}

// Kill ends it. What was forked from it goes on.
func (t *Template) Kill() error {
	t.origin.unset(t)
	return t.container.Signal(syscall.SIGKILL)
}

// known are the processes of a template that may be in this PID namespace, or this process's children.
func (t *Template) known() map[int]bool { return t.origin.known(t.pid) }

// quelling bounds how long it may take to kill what a template has left.
const quelling = 5 * time.Second

// quell kills a template that cannot be trusted, and all that it has left, here and in the container of an analysis: init could
// not kill what has another id.
func (t *Template) quell(target Target) error {
	if err := t.Kill(); err != nil {
		return err
	}
	<-t.ended
	return errors.Join(clearStrays(t.known, quelling), empty(target.Proc, quelling))
}

// End kills it, waits for its end, and destroys its container.
func (t *Template) End() error {
	err := t.Kill()
	if t.started {
		<-t.ended
		err = errors.Join(err, clearStrays(t.known, quelling))
	} else {
		_, waited := t.container.Wait(container.Watch{})
		err = errors.Join(err, waited)
	}
	return errors.Join(err, t.container.Destroy())
}

// Close frees what an ended template has. No process that was forked from it may be left: they ask on its descriptor.
func (t *Template) Close() (err error) {
	if t == nil {
		return nil
	}
	if t.audit != nil {
		_, err = t.audit.Wait() // what it has tried itself is of no run
	}
	t.container.Close()
	protocol.Discard([]*os.File{t.note, t.control})
	t.sources.Close()
	return err
}
