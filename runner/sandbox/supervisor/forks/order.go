package forks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/audit"
	"github.com/scidex-ai/scidex-oci/runner/container"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor/forks/proof"
)

// maxText bounds the arguments and the environment of a forked analysis, in bytes (MAX_TEXT of runner/preload/template.py).
const maxText = 128 << 10

// Target is the container that an analysis is forked into.
type Target struct {
	Container *container.Container // its init waits
	Proc      string               // its /proc
	Process   *specs.Process       // of the specification: our init, the interpreter, the script, and the arguments
	Owner     int                  // the analysis' id in this user namespace
	Streams   []*os.File           // standard input, output and error
	Audit     *audit.Watch         // nil: none
	Rules     *os.File             // of Landlock, made by init; nil: the kernel has none
	Landlock  int                  // its version
}

// order is what a template is told to fork: runner/preload/src/fork.c.
type order struct {
	Target
	init       int         // of the container
	pidfd      *os.File    // its
	note, gate [2]*os.File // read end, write end
	text       string
}

func newOrder(target Target) (_ *order, err error) {
	o := &order{Target: target, pidfd: target.Container.Pidfd(), text: text(target.Process.Args[ownWords:], target.Process.Env)}
	if len(o.text) > maxText {
		return nil, fmt.Errorf("arguments and environment are more than %d KiB", maxText>>10)
	}
	if o.init, err = target.Container.Pid(); err != nil {
		return nil, err
	}
	for _, pipe := range []*[2]*os.File{&o.note, &o.gate} {
		if pipe[0], pipe[1], err = os.Pipe(); err != nil {
			return nil, errors.Join(err, o.close())
		}
	}
	return o, nil
}

// ownWords precede the arguments: our init, the interpreter and the script, which the template has.
const ownWords = 3

// takeGate returns the end of the gate that the caller closes.
func (o *order) takeGate() *os.File {
	gate := o.gate[1]
	o.gate[1] = nil
	return gate
}

// letGo closes the end of the note that the process has.
func (o *order) letGo() {
	_ = o.note[1].Close()
	o.note[1] = nil
}

func (o *order) close() error {
	var errs []error
	for _, f := range append(o.note[:], o.gate[:]...) {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// prove compares a process with what the analysis must be.
func (o *order) prove(pid, template int, known map[string]bool) error {
	return proof.Check(pid, proof.Want{
		Init: o.init, Template: template, Known: known, Filters: templateFilters, UID: o.Owner, GID: o.Owner, Umask: int(*o.Process.User.Umask), Proc: o.Proc, Work: o.Process.Cwd,
		Files: map[int]*os.File{0: o.Streams[0], 1: o.Streams[1], 2: o.Streams[2], 5: o.gate[0]},
	})
}

// restrict lets a process restrict itself by the rules, and proves it.
func (o *order) restrict(pid int) error {
	if o.Rules == nil {
		return nil
	}
	begin := func() error {
		_, err := o.gate[1].Write([]byte{1})
		return err
	}
	return proof.Restricted(pid, o.Rules, begin, time.Now().Add(longestFork))
}

// limit gives a process the limits that the container's init has, and its own.
func (o *order) limit(pid int) error { return proof.Limit(pid, o.init, o.Process.Rlimits) }

// send sends it to a template.
func (o *order) send(control int) error {
	user := o.Process.User
	head := binary.NativeEndian.AppendUint32(nil, user.UID)
	head = binary.NativeEndian.AppendUint32(head, user.GID)
	head = binary.NativeEndian.AppendUint32(head, *user.Umask)
	head = binary.NativeEndian.AppendUint32(head, uint32(o.Landlock))
	files := []*os.File{o.pidfd, o.Streams[0], o.Streams[1], o.Streams[2], o.note[1], o.gate[0]}
	if o.Rules != nil {
		files = append(files, o.Rules)
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	return unix.Sendmsg(control, append(head, o.text...), unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
}

// text is what an order says: the number of arguments, these, and the environment, separated by NULs.
func text(args, env []string) string {
	words := append([]string{strconv.Itoa(len(args))}, args...)
	return strings.Join(append(words, env...), "\x00")
}

// longestFork is how long a template may take to answer, far more than a fork needs.
const longestFork = 10 * time.Second

// longestEnd is how long the process that has joined may live after the answer, before which the template waits for it.
const longestEnd = time.Second

// order sends an order and returns the pid of the process that the template says it has made.
func (t *Template) order(o *order) (pid int, err error) {
	t.joining.allow(o.init)
	pid, err = obey(int(t.control.Fd()), o, longestFork)
	if middle := t.joining.forbid(); err == nil {
		err = awaitEnd(middle, longestEnd)
	} else if middle != nil {
		middle.Close()
	}
	return pid, err
}

// obey has an order obeyed. The template may have sent anything, or nothing.
func obey(control int, o *order, longest time.Duration) (pid int, err error) {
	if err := o.send(control); err != nil {
		return 0, fmt.Errorf("order a fork: %w", err)
	}
	if ready, err := pollFor(control, longest); !ready {
		return 0, errors.Join(errors.New("the template does not answer"), err)
	}
	var raw [4]byte
	if n, _, err := unix.Recvfrom(control, raw[:], unix.MSG_DONTWAIT); n != len(raw) {
		return 0, errors.Join(errors.New("the template has ended"), err)
	}
	answered := int32(binary.NativeEndian.Uint32(raw[:]))
	if answered <= 0 {
		return 0, fmt.Errorf("the template could not fork: %w", syscall.Errno(-answered))
	}
	return int(answered), nil
}
