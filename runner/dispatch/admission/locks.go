package admission

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// span is a range of bytes that a lock covers. There need not be any at these offsets (fcntl(2), "Open file description locks").
type span struct{ from, to int64 }

func (s span) size() int64 { return s.to - s.from }

// lock sets a lock of the kind F_WRLCK, F_RDLCK or F_UNLCK on a span. Where another open file description has one that
// conflicts, it waits with F_OFD_SETLKW and fails with EAGAIN for F_OFD_SETLK.
func lock(f *os.File, how int, kind int16, s span) error {
	for {
		err := unix.FcntlFlock(f.Fd(), how, &unix.Flock_t{Type: kind, Start: s.from, Len: s.size()})
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// take locks so many bytes of a span, in as many parts as it takes, and returns how many there were.
func take(f *os.File, s span, bytes int64) (taken int64, err error) {
	locked, err := flock.Locked(f, s.from, s.to)
	for _, other := range append(locked, flock.Range{From: s.to, To: s.to}) {
		part := span{s.from, min(other.From, s.from+bytes-taken)}
		if err == nil && part.size() > 0 {
			err = lock(f, unix.F_OFD_SETLK, unix.F_WRLCK, part)
			taken += part.size()
		}
		s.from = other.To
	}
	return taken, err
}

// openOwn opens or makes a file of the caller alone.
func openOwn(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	if err == nil && (st.Mode != unix.S_IFREG|0o600 || int(st.Uid) != os.Geteuid()) {
		err = fmt.Errorf("%s is not a file of uid %d with mode 0600; remove it", path, os.Geteuid())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
