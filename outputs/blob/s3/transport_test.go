package s3

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/blob/blobtest"
)

// An upload may take as long as it likes while the server takes some of it within each bound, and ends if it takes
// nothing. An answer has its bound from the end of the upload on.
func TestBounds(t *testing.T) {
	for name, tc := range map[string]struct {
		pause, think time.Duration // before each piece of the body, and after the last
		bound        time.Duration
		broken       bool
	}{
		"slow upload":         {stallMost * 3 / 4, 0, answerMost, false},
		"slow for a copy":     {stallMost * 3 / 4, 0, writeMost, false},
		"stalled upload":      {stallMost + time.Second, 0, answerMost, true},
		"stalled for a copy":  {stallMost + time.Second, 0, writeMost, true},
		"late answer":         {0, answerMost - time.Second, answerMost, false},
		"no answer":           {0, answerMost + time.Second, answerMost, true},
		"late answer, a copy": {0, writeMost - time.Second, writeMost, false},
		"no answer, a copy":   {0, writeMost + time.Second, writeMost, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := send(t, tc.bound, func(server net.Conn) { answerLate(server, tc.pause, tc.think) })
				if broken := err != nil; broken != tc.broken {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// sent is the size of a body, in bytes: ten writes of net/http.
const sent = 10 * 32 << 10

// send makes a request to a server that answers one connection.
func send(t *testing.T, bound time.Duration, answer func(server net.Conn)) error {
	client, server := net.Pipe()
	var answering sync.WaitGroup
	defer answering.Wait()
	defer server.Close()
	answering.Go(func() { answer(server) })
	pipe := transport(func(context.Context, string, string) (net.Conn, error) { return client, nil }, bound, nil)
	defer pipe.CloseIdleConnections()
	pipe.Proxy = nil
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://bucket/", unseekable(strings.NewReader(strings.Repeat("x", sent)), sent))
	blobtest.Must(t, err)
	request.ContentLength = sent
	got, err := pipe.RoundTrip(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, got.Body)
	blobtest.Must(t, got.Body.Close())
	return err
}

func answerLate(server net.Conn, pause, think time.Duration) {
	request, err := http.ReadRequest(bufio.NewReaderSize(server, 16))
	for left := int64(sent); err == nil && left > 0; {
		time.Sleep(pause)
		var n int64
		n, err = io.CopyN(io.Discard, request.Body, min(left, 32<<10))
		left -= n
	}
	if err != nil {
		return // the client has hung up
	}
	time.Sleep(think)
	_, _ = io.WriteString(server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
}
