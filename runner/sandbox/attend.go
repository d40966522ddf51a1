package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/container"
)

// A supervisor serves one run per connection, all concurrently. The end of the first connection, which it was started
// with, ends the supervisor; on it the launcher sends the others.

// admit serves a further run, on the connection sent with m, until the launcher ends it.
func admit(m message) error {
	if len(m.files) != 1 {
		discard(m.files)
		return fmt.Errorf("a session came with %d descriptors", len(m.files))
	}
	c, err := newConn(m.files[0])
	if err != nil {
		return fmt.Errorf("session: %w", err)
	}
	go func() {
		// What cannot be ended here, the kernel ends with this process, and the other runs too.
		if err := (&worker{conn: c}).attend(); err != nil {
			exit(err)
		}
	}()
	return nil
}

// attend serves one run until its launcher ends it or dies, and returns when the run is cleaned up.
func (w *worker) attend() error {
	defer w.conn.Close()
	w.tell(message{Type: msgReady})
	err := w.serve(func(m message) error { return fmt.Errorf("unknown message %q", m.Type) })
	if !errors.Is(err, io.EOF) && !errors.Is(err, unix.ECONNRESET) {
		return fmt.Errorf("session: %w", err)
	}
	if err := w.close(); err != nil {
		return fmt.Errorf("end a run: %w", err)
	}
	w.tell(message{Type: msgEnded})
	return nil
}

// serve answers the launcher until it disconnects; session opens another connection.
func (w *worker) serve(session func(message) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for {
		m, err := w.conn.receive()
		if err != nil {
			return err
		}
		switch {
		case m.torn:
			err = errTorn
		case m.Type == msgSession:
			err = session(m)
		case m.Type == msgHarvest, m.Type == msgClean: // slow; the end of the connection must still be noticed
			w.tasks.Go(func() { w.answer(w.handle(ctx, m)) })
		default:
			err = w.handle(ctx, m)
		}
		w.answer(err)
	}
}

// errTorn refuses a message with truncated descriptors: which ones are missing is unknown.
var errTorn = fmt.Errorf("the supervisor has no room for more runs: %w; see \"ulimit -n\"", unix.EMFILE)

// answer reports a failure to the launcher.
func (w *worker) answer(err error) {
	if err != nil {
		w.tell(message{Type: msgFailed, Error: err.Error(), Spans: w.trace.Take()})
	}
}

// close ends a run in any state and frees its resources here. Its context has ended.
func (w *worker) close() error {
	if err := w.endContainer(); err != nil {
		return err
	}
	w.tasks.Wait()
	if w.container != nil {
		w.container.Close()
	}
	discard([]*os.File{w.work, w.disk, w.ingest, w.hold, w.proc})
	return w.area.remove()
}

// endContainer kills every process of the run and waits for its end.
func (w *worker) endContainer() error {
	if w.container == nil {
		return nil
	}
	if err := w.kill(); err != nil || w.watched {
		return err
	}
	defer close(w.ended)
	_, err := w.container.Wait(container.Watch{}) // it waits at its gate
	return errors.Join(err, w.container.Destroy())
}

// openProc opens the /proc of a container, which shows only its processes. The file's name is a path to it.
func openProc(c *container.Container) (*os.File, error) {
	pid, err := c.Pid()
	if err != nil {
		return nil, err
	}
	path := "/proc/" + strconv.Itoa(pid) + "/root/proc"
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the container's /proc: %w", err)
	}
	proc := os.NewFile(uintptr(fd), "/proc/self/fd/"+strconv.Itoa(fd))
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil || st.Type != unix.PROC_SUPER_MAGIC {
		return nil, errors.Join(errors.New("the container's /proc is none"), err, proc.Close())
	}
	return proc, nil
}
