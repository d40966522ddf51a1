package container

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// The kinds of struct report in initc/src/report.h.
const (
	reportExecuted = 1
	reportRefused  = 2
	reportEnded    = 3
	reportMaxRSS   = 4
	reportCPU      = 5
	reportAudited  = 6
	reportUnheard  = 7
	reportOpen     = 8
	reportBegun    = 9
	reportFiltered = 10
	reportLeft     = 11
	reportRuled    = 13
	reportUnruled  = 14
)

// report is one of our init.
type report struct {
	kind  uint32
	value int32
	at    int64    // nanoseconds of CLOCK_MONOTONIC
	file  *os.File // of reportAudited; else nil
}

// reports is our end of the socket on which init receives its filter and reports.
type reports struct{ sock *net.UnixConn }

// newReports returns both ends; the other is init's.
func newReports() (*reports, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	own, inits := os.NewFile(uintptr(fds[0]), "reports"), os.NewFile(uintptr(fds[1]), "reports")
	defer own.Close()
	c, err := net.FileConn(own)
	if err != nil {
		return nil, nil, errors.Join(err, inits.Close())
	}
	return &reports{c.(*net.UnixConn)}, inits, nil
}

// filter sends what init reads first; the socket buffers it.
func (r *reports) filter(program []byte) error {
	if _, err := r.sock.Write(program); err != nil {
		return fmt.Errorf("send the filter of system calls: %w", err)
	}
	return nil
}

// The answers in initc/src/report.h.
const (
	answerPass = 1
	answerAnew = 2
)

// answer lets init, which waits for the byte, go on. It may have been killed: errors do not matter.
func (r *reports) answer(with byte) { _, _ = r.sock.Write([]byte{with}) }

func (r *reports) Close() error { return r.sock.Close() }

// next returns io.EOF when init has ended.
func (r *reports) next() (report, error) {
	var raw [16]byte
	rights := make([]byte, unix.CmsgSpace(4))
	n, n2, _, _, err := r.sock.ReadMsgUnix(raw[:], rights)
	// A reset means that init was killed before it read its filter (unix(7)).
	if err == nil && n == 0 || errors.Is(err, unix.ECONNRESET) {
		err = io.EOF
	}
	if err != nil {
		return report{}, err
	}
	if n != len(raw) {
		return report{}, fmt.Errorf("init reported %d bytes, and %d were due", n, len(raw))
	}
	got := report{
		kind:  binary.NativeEndian.Uint32(raw[:4]),
		value: int32(binary.NativeEndian.Uint32(raw[4:8])),
		at:    int64(binary.NativeEndian.Uint64(raw[8:])),
	}
	if got.kind == reportAudited {
		got.file, err = descriptor(rights[:n2])
	}
	return got, err
}

// descriptor reads a message's descriptor, which net has made close-on-exec.
func descriptor(rights []byte) (*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(errors.New("init sent no descriptor"), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.Join(errors.New("init sent no descriptor"), err)
	}
	return os.NewFile(uintptr(fds[0]), "of init"), nil
}
