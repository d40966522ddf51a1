package protocol

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const headerSize = 16 // bytes: the lengths of the message and of its bulk

// Bounds of one frame. A part of its descriptors is what one call takes, SCM_MAX_FD (unix(7)), and goes with a byte of the header or more.
const (
	maxFrame = 64 << 20 // bytes
	maxPart  = 253
	maxFiles = headerSize * maxPart
)

// Conn carries messages and descriptors between launcher and supervisor. Each frame is a header, a JSON message and its
// job's bulk; descriptors travel with the header.
type Conn struct {
	sock  *net.UnixConn
	write sync.Mutex
}

// Pair makes a connection. It returns one end as a Conn and the other as a file for a child.
func Pair() (*Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	child := os.NewFile(uintptr(fds[1]), "supervisor")
	c, err := NewConn(os.NewFile(uintptr(fds[0]), "launcher"))
	if err != nil {
		return nil, nil, errors.Join(err, child.Close())
	}
	return c, child, nil
}

// NewConn takes over one end of a socket pair, and closes f.
func NewConn(f *os.File) (*Conn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	sock, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("not a unix socket"), c.Close())
	}
	go learn()
	return &Conn{sock: sock}, nil
}

// learn has encoding/json prepare for messages and all that is in them, once for the process. It takes a millisecond, in
// which the other end still starts.
var learn = sync.OnceFunc(func() { _ = json.Unmarshal([]byte("{}"), &Message{}) })

// Close closes this end.
func (c *Conn) Close() error { return c.sock.Close() }

// Interrupt ends a pending receive, and every later one.
func (c *Conn) Interrupt() { _ = c.sock.SetReadDeadline(time.Now()) }

// CloseWrite shuts down this side; the peer's messages still come. It fails only without a peer.
func (c *Conn) CloseWrite() { _ = c.sock.CloseWrite() }

// HungUp reports whether the peer is gone, or goes within a time, without reading.
func (c *Conn) HungUp(within time.Duration) (gone bool) {
	raw, err := c.sock.SyscallConn()
	if err != nil {
		return true
	}
	err = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}} // POLLHUP is always set (poll(2))
		n, err := unix.Poll(fds, int(within.Milliseconds()))
		for errors.Is(err, unix.EINTR) {
			n, err = unix.Poll(fds, int(within.Milliseconds()))
		}
		gone = err == nil && n == 1
	})
	return gone || err != nil
}

// Send sends a message with copies of the files. It is safe for concurrent use.
func (c *Conn) Send(m Message, files ...*os.File) error {
	var parts [][]byte
	bulk := 0
	if m.Job != nil {
		m.Job, parts = m.Job.stripped()
	}
	for _, part := range parts {
		m.Bulk = append(m.Bulk, len(part))
		bulk += len(part)
	}
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("send %s: %w", m.Type, err)
	}
	if len(body)+bulk > maxFrame || len(files) > maxFiles {
		return fmt.Errorf("send %s: %d bytes and %d descriptors are too much", m.Type, len(body)+bulk, len(files))
	}
	c.write.Lock()
	defer c.write.Unlock()
	header := binary.NativeEndian.AppendUint64(nil, uint64(len(body)))
	header = binary.NativeEndian.AppendUint64(header, uint64(bulk))
	if err := c.sendHeader(header, files); err != nil {
		return fmt.Errorf("send %s: %w", m.Type, err)
	}
	all := net.Buffers(append([][]byte{body}, parts...))
	if _, err := all.WriteTo(c.sock); err != nil {
		return fmt.Errorf("send %s: %w", m.Type, err)
	}
	return nil
}

// sendHeader sends all parts but the last with a byte each.
func (c *Conn) sendHeader(header []byte, files []*os.File) error {
	for len(files) > maxPart {
		if err := c.sendPart(header[:1], files[:maxPart]); err != nil {
			return err
		}
		header, files = header[1:], files[maxPart:]
	}
	return c.sendPart(header, files)
}

func (c *Conn) sendPart(text []byte, files []*os.File) error {
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	_, _, err := c.sock.WriteMsgUnix(text, rights, nil)
	return err
}

// receiveHeader adds the descriptors to a message. A call of the kernel returns at most one part.
func (c *Conn) receiveHeader(header []byte, m *Message) error {
	oob := make([]byte, unix.CmsgSpace(maxPart*4))
	for got := 0; got < len(header); {
		n, oobn, flags, _, err := c.sock.ReadMsgUnix(header[got:], oob)
		if err != nil {
			return err
		}
		if n == 0 && got > 0 {
			return io.ErrUnexpectedEOF
		}
		if n == 0 {
			return io.EOF
		}
		files, err := parseRights(oob[:oobn])
		m.Files = append(m.Files, files...)
		if err != nil {
			return err
		}
		m.Torn = m.Torn || flags&unix.MSG_CTRUNC != 0
		got += n
	}
	if m.Torn {
		Discard(m.Files)
		m.Files = nil
	}
	return nil
}

// Receive returns io.EOF when the peer is gone.
func (c *Conn) Receive() (m Message, err error) {
	var header [headerSize]byte
	defer func() {
		if err != nil {
			Discard(m.Files)
		}
	}()
	if err := c.receiveHeader(header[:], &m); err != nil {
		return m, err
	}
	size, bulk := binary.NativeEndian.Uint64(header[:8]), binary.NativeEndian.Uint64(header[8:])
	if size > maxFrame || bulk > maxFrame {
		return m, fmt.Errorf("a frame of %d and %d bytes is too much", size, bulk)
	}
	body := make([]byte, size+bulk)
	if _, err := io.ReadFull(c.sock, body); err != nil {
		return m, err
	}
	err = json.Unmarshal(body[:size], &m)
	if err == nil && m.Job != nil {
		err = m.Job.restore(m.Bulk, body[size:])
	}
	if err != nil {
		return m, fmt.Errorf("receive: %w", err)
	}
	return m, nil
}

func parseRights(oob []byte) ([]*os.File, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return files, err
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}

// Discard closes files without written data, so errors lose nothing.
func Discard(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
