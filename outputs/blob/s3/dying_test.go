package s3

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/blob/blobtest"
)

// mortal is a server that can be killed and started again with its data, and a relay before it.
type mortal struct {
	dir, address string // "" before its first start
	cmd          atomic.Pointer[exec.Cmd]
	relay        string // its address
	left         atomic.Int64
}

// newMortal starts a server, which is killed once the relay has passed that many bytes to it.
func newMortal(t *testing.T, bytes int64) *mortal {
	t.Helper()
	m := &mortal{dir: t.TempDir()}
	m.left.Store(bytes)
	m.start(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	blobtest.Must(t, err)
	m.relay = l.Addr().String()
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			passing.Go(func() { m.pass(client) })
		}
	})
	t.Cleanup(func() { l.Close(); m.kill(); passing.Wait() })
	return m
}

func (m *mortal) start(t *testing.T) {
	t.Helper()
	address := m.address
	if address == "" {
		address = "127.0.0.1"
	}
	cmd := exec.Command("../../../scripts/s3", address, m.dir)
	cmd.Stderr = os.Stderr
	_, err := cmd.StdinPipe() // it ends with this process
	blobtest.Must(t, err)
	stdout, err := cmd.StdoutPipe()
	blobtest.Must(t, err)
	blobtest.Must(t, cmd.Start())
	m.cmd.Store(cmd)
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	blobtest.Must(t, err)
	var s server
	blobtest.Must(t, json.Unmarshal(line, &s))
	if m.address == "" {
		m.address = s.Endpoint[len("http://"):]
	}
}

func (m *mortal) kill() {
	_ = m.cmd.Load().Process.Kill() // it may be dead
	_ = m.cmd.Load().Wait()
}

// pass relays one connection, until the server or the client ends it.
func (m *mortal) pass(client net.Conn) {
	defer client.Close()
	to, err := net.Dial("tcp", m.address)
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(client, to)
		client.Close()
	}()
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
		if left := m.left.Add(-int64(n)); left <= 0 && left+int64(n) > 0 {
			_ = m.cmd.Load().Process.Kill()
		}
	}
}

// TestServerDiesInAPart: a server that is killed while it receives a part, and is started again with its data, has no
// object, and the next upload is whole. gc removes the dead upload.
func TestServerDiesInAPart(t *testing.T) {
	m := newMortal(t, 32<<20)
	blobtest.Must(t, os.Mkdir(filepath.Join(m.dir, "objects/bucket"), 0o755))
	s := open(t, "s3://bucket?endpoint=http://"+m.relay)
	b := openBucket(t, "s3://bucket?endpoint=http://"+m.relay)
	sum := blobtest.Digest(large)
	if err := keep(t, s, large); !errors.Is(err, blob.ErrTransient) {
		t.Errorf("%v; want ErrTransient", err)
	}
	m.kill()
	if m.left.Load() > 0 {
		t.Fatal("the server was not killed")
	}
	m.start(t)
	b.expectNothing(t, sum, 1)
	blobtest.Must(t, keep(t, s, large))
	blobtest.Must(t, s.Verify(t.Context(), sum))
	if n, err := b.CleanUploads(t.Context(), later(), false); n != 1 || err != nil {
		t.Errorf("%d uploads were given up, %v", n, err)
	}
	blobtest.Must(t, s.Verify(t.Context(), sum))
	if n, err := b.CleanUploads(t.Context(), later(), true); n != 0 || err != nil {
		t.Errorf("%d uploads are left, %v", n, err)
	}
}
