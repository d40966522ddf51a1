package app

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

// eventsTarget is what --events names: a file, or a descriptor that the caller opened. The zero value is none.
type eventsTarget struct {
	label, Text string // for messages
	path        string
	Fd          int
}

// readEventsTarget reads the option. In the launcher of a detached run, detached, the descriptor has another number.
func readEventsTarget(given options.Text, detached bool) (t eventsTarget, err error) {
	if !given.Given {
		return t, nil
	}
	t.label, t.Text = given.Label, given.Value
	if t.Text == "" {
		return t, t.refuse("is empty; give a file or fd:N, or leave it out")
	}
	number, isFD := strings.CutPrefix(t.Text, "fd:")
	if !isFD {
		t.path = given.Path("")
		return t, nil
	}
	if t.Fd, err = strconv.Atoi(number); err != nil || t.Fd < 0 {
		return t, t.refuse("not a descriptor; give its number, as in fd:3")
	}
	if t.Fd <= 2 {
		return t, t.refuse("standard input, output and error are taken; give a descriptor from 3 on, as in fd:3 with 3>FILE in a shell")
	}
	if detached {
		t.Fd = command.EventsFD
	}
	return t, t.inherited()
}

func (t eventsTarget) refuse(format string, args ...any) error {
	return fmt.Errorf("%s %q: "+format, append([]any{t.label, t.Text}, args...)...)
}

// inherited refuses a descriptor that the caller did not pass, or that cannot be written to. Descriptors that this process
// opened are those that close at exec (execve(2)).
func (t eventsTarget) inherited() error {
	flags, err := unix.FcntlInt(uintptr(t.Fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC != 0 {
		return t.refuse("this command was started without that descriptor; open it, as with %d>FILE in a shell or pass_fds in Python", t.Fd)
	}
	status, err := unix.FcntlInt(uintptr(t.Fd), unix.F_GETFL, 0)
	if err != nil || status&unix.O_PATH != 0 || status&unix.O_ACCMODE == unix.O_RDONLY {
		return t.refuse("that descriptor cannot be written to")
	}
	return nil
}

// openEvents makes the Writer of a target. It is nil if there is no target.
func openEvents(p *command.Program, t eventsTarget) (*eventsWriter, error) {
	if t.Text == "" {
		return nil, nil // events are not asked for
	}
	file, err := t.open()
	if err != nil {
		return nil, err
	}
	if err := checkEventsUnshared(p, file, t); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return newEventsWriter(file), nil
}

// open opens the file, which no child of this process inherits. An existing file is appended to.
func (t eventsTarget) open() (*os.File, error) {
	if t.path == "" {
		unix.CloseOnExec(t.Fd)
		return os.NewFile(uintptr(t.Fd), t.Text), nil
	}
	file, err := appendEventsTo(t.path)
	if errors.Is(err, unix.ENXIO) {
		return nil, t.refuse("it has no reader; start that first")
	}
	var why *os.PathError
	if errors.As(err, &why) {
		return nil, t.refuse("%w; give a file that can be written to", why.Err)
	}
	return file, err
}

// appendEventsTo opens a file, which may be a link, or makes it.
func appendEventsTo(path string) (*os.File, error) {
	dir, name, err := userdir.ParentOfTarget(path)
	if err != nil {
		return nil, err
	}
	file, err := dir.Append(name, 0o600)
	if closed := dir.Close(); err == nil {
		err = closed
	}
	return file, err
}

// checkEventsUnshared refuses the file of one of our own streams: events are never mixed with the analysis' output.
func checkEventsUnshared(p *command.Program, file *os.File, t eventsTarget) error {
	its, err := file.Stat()
	if err != nil {
		return err
	}
	if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(its, null) {
		return nil
	}
	for name, stream := range map[string]*os.File{"output": p.Stdout.File, "error": p.Stderr} {
		if info, err := stream.Stat(); err == nil && os.SameFile(its, info) {
			return t.refuse("that is where standard %s goes; give another file or descriptor", name)
		}
	}
	return nil
}
