package admission

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
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

// free returns the parts of a span on which no other open file description has a lock.
func free(f *os.File, s span) ([]span, error) {
	if s.size() <= 0 {
		return nil, nil
	}
	other := unix.Flock_t{Type: unix.F_WRLCK, Start: s.from, Len: s.size()}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &other); err != nil {
		return nil, err
	}
	if other.Type == unix.F_UNLCK {
		return []span{s}, nil
	}
	before, err := free(f, span{s.from, other.Start})
	if err != nil || other.Len == 0 { // a length of 0 is up to the end
		return before, err
	}
	after, err := free(f, span{other.Start + other.Len, s.to})
	return append(before, after...), err
}

// take locks so many bytes of a span, in as many parts as it takes, and returns how many there were.
func take(f *os.File, s span, bytes int64) (taken int64, err error) {
	parts, err := free(f, s)
	for _, part := range parts {
		part.to = min(part.to, part.from+bytes-taken)
		if err != nil || part.size() == 0 {
			break
		}
		if err = lock(f, unix.F_OFD_SETLK, unix.F_WRLCK, part); err == nil {
			taken += part.size()
		}
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
