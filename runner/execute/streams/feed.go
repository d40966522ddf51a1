package streams

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/runner/inputs/stdin"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// Feed passes a standard input on to an analysis through a pipe, and keeps what the analysis has read of it. This process
// holds both ends: what is unread at the end is still in the pipe.
type Feed struct {
	from        source
	read, write *os.File
	log         *Log
	known       bool  // the log has all of it from the start
	passed      int64 // bytes written to the pipe
}

// NewFeed makes the pipe. It keeps a *stdin.Known whole, also if the analysis reads only a part of it.
func NewFeed(ingest *cas.Ingest, from io.Reader) (*Feed, error) {
	known, isKnown := from.(*stdin.Known)
	f := &Feed{log: NewLog(ingest, stdin.Max, ""), known: isKnown}
	if isKnown {
		whole := io.NewSectionReader(known.File, 0, known.Bytes)
		from = whole
		if _, err := io.Copy(f.log, io.NewSectionReader(whole, 0, known.Bytes)); err != nil || f.log.Err() != nil {
			return f, fmt.Errorf("keep the standard input: %w", errors.Join(err, f.log.Err()))
		}
	}
	f.from = newSource(from)
	return f, f.open()
}

// open makes the pipe. Its mode lets the analysis open /dev/stdin, but only for reading.
func (f *Feed) open() error {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return os.NewSyscallError("pipe2", err)
	}
	failed := errors.Join(unix.Fchmod(fds[0], 0o444), unix.SetNonblock(fds[1], true)) // the latter for its deadline
	f.read, f.write = os.NewFile(uintptr(fds[0]), "standard input"), os.NewFile(uintptr(fds[1]), "standard input")
	return failed
}

// Analysis is the end of the pipe that the analysis gets; nil for a nil feed.
func (f *Feed) Analysis() *os.File {
	if f == nil {
		return nil
	}
	return f.read
}

// Run passes the standard input on until it or the analysis ends. What never comes or is never read does not delay the end.
func (f *Feed) Run(ended <-chan struct{}) error {
	go func() {
		<-ended
		_ = f.write.SetWriteDeadline(time.Unix(1, 0)) // fails only if it is closed
	}()
	for {
		part, err := f.from.next(ended)
		if f.passed+int64(len(part)) > stdin.Max {
			return stdin.ErrTooMuch
		}
		if failed := f.pass(part); failed != nil {
			return ignore(failed, os.ErrDeadlineExceeded)
		}
		if err != nil {
			return errors.Join(ignore(err, io.EOF, errEnded), f.write.Close())
		}
	}
}

func (f *Feed) pass(part []byte) error {
	n, err := f.write.Write(part)
	f.passed += int64(n)
	if !f.known {
		_, _ = f.log.Write(part[:n]) // it has no error
	}
	return err
}

func ignore(err error, ends ...error) error {
	for _, end := range ends {
		if errors.Is(err, end) {
			return nil
		}
	}
	return err
}

// ReturnUnread gives back what the processes of the analysis have not read: it is not kept, and the offset of a file is set before it. Call
// it when all of them have ended.
func (f *Feed) ReturnUnread() error {
	unread, err := unix.IoctlGetInt(int(f.read.Fd()), unix.TIOCINQ)
	if err != nil {
		return os.NewSyscallError("ioctl FIONREAD", err)
	}
	left := min(int64(unread), f.passed)
	if !f.known {
		f.log.Cut(left)
	}
	return f.from.used(f.passed - left)
}

// Kept is what is kept so far; nil for a nil feed.
func (f *Feed) Kept() *phase.KeptFile {
	if f == nil {
		return nil
	}
	return f.log.Kept()
}

// Close closes the pipe and the file, and returns the first error of writing to that. It is idempotent, also for nil.
func (f *Feed) Close() error {
	if f == nil || f.log == nil {
		return nil
	}
	for _, end := range []*os.File{f.read, f.write} {
		_ = end.Close() // the write end was closed where the standard input ended
	}
	err := f.log.Close()
	f.log = nil
	return err
}
