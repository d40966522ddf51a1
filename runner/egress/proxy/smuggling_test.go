package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// lenient is a server that reads what others refuse: any spelling of "chunked" goes before any length, and lines end in every way.
type lenient struct {
	mu   sync.Mutex
	seen []string // paths
}

func (s *lenient) serve(c net.Conn) {
	defer c.Close()
	from := bufio.NewReader(c)
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			return
		}
		if words := strings.Fields(line); len(words) == 3 {
			s.mu.Lock()
			s.seen = append(s.seen, words[1])
			s.mu.Unlock()
		}
		length, chunked := body(from)
		if chunked {
			length = 0
			_, _ = textproto.NewReader(from).ReadLine() // "0", the only chunk of these tests
			_, _ = textproto.NewReader(from).ReadLine()
		}
		_, _ = io.CopyN(io.Discard, from, length)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}
}

// body reads a header up to its end.
func body(from *bufio.Reader) (length int64, chunked bool) {
	for {
		line, err := from.ReadString('\n')
		if line = strings.ToLower(strings.TrimSpace(line)); line == "" || err != nil {
			return length, chunked
		}
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "content-length" {
			length, _ = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
		chunked = chunked || strings.Contains(line, "chunked")
	}
}

// paths are those of the requests so far.
func (s *lenient) paths() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.seen, " ")
}

// naive is a proxy that looks at the host of each request, takes lengths as they are given, and passes on what it got.
func naive(c net.Conn, server string) {
	defer c.Close()
	to, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	go func() { _, _ = io.Copy(c, to); c.Close() }()
	defer to.Close()
	from := bufio.NewReader(c)
	for {
		var head strings.Builder
		length := int64(0)
		for {
			line, err := from.ReadString('\n')
			if err != nil {
				return
			}
			head.WriteString(line)
			if text, found := strings.CutPrefix(line, "Content-Length: "); found {
				length, _ = strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			}
			if line == "\r\n" {
				break
			}
		}
		if !strings.Contains(head.String(), " http://api.example.org/") {
			return
		}
		_, _ = io.WriteString(to, head.String())
		_, _ = io.CopyN(to, from, length)
	}
}

// listening serves each connection.
func listening(t *testing.T, serve func(net.Conn)) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l
}

// TestSmuggled: a request within another one's body reaches a lenient server by a proxy that passes on what it got, and not by this one.
func TestSmuggled(t *testing.T) {
	const hidden = "0\r\n\r\nGET http://other.example.org/hidden HTTP/1.1\r\nHost: x\r\n\r\n"
	for title, header := range map[string]string{
		"both lengths":        "Transfer-Encoding: chunked",
		"a hidden encoding":   "Transfer-Encoding : chunked",
		"an unknown encoding": "Transfer-Encoding: xchunked",
		"a list of encodings": "Transfer-Encoding: identity, chunked",
		"twice":               "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
		"a folded header":     "Transfer-Encoding:\r\n chunked",
		"a bare line feed":    "X: a\nTransfer-Encoding: chunked",
		"a vertical tab":      "Transfer-Encoding: \x0bchunked",
		"in another case":     "transfer-ENCODING: CHUNKED",
	} {
		t.Run(title, func(t *testing.T) {
			request := fmt.Sprintf("POST http://api.example.org/one HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%s\r\n\r\n%s", len(hidden), header, hidden)
			control := &lenient{}
			server := listening(t, control.serve)
			front := listening(t, func(c net.Conn) { naive(c, server.Addr().String()) })
			conn, err := net.Dial("tcp", front.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, request)
			for range 20_000 { // only ends a hang
				if strings.Contains(control.paths(), "hidden") {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			if got := control.paths(); got != "http://api.example.org/one http://other.example.org/hidden" {
				t.Fatalf("the attack does not work by a naive proxy: the server saw %q", got)
			}
			w, attacked := newWorld(t), &lenient{}
			w.serve(home, 80, listening(t, attacked.serve))
			answer := raw(t, w.start(api), request+"GET http://api.example.org/last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			if got := attacked.paths(); strings.Contains(got, "hidden") {
				t.Errorf("the server saw %q, the client %q", got, answer)
			}
		})
	}
}

// TestLineBreaks: line breaks that a path or a header has, escaped or bare, are none to the server. A proxy that writes on what the escapes
// mean gives it a header of the analysis' own.
func TestLineBreaks(t *testing.T) {
	const path = "/a%20HTTP/1.1%0d%0aHidden:%20yes%0d%0aX:"
	seen := make(chan string, 8)
	lines := func(c net.Conn) {
		defer c.Close()
		head, err := textproto.NewReader(bufio.NewReader(c)).ReadDotLines()
		_ = err // it ends with the connection
		seen <- strings.Join(head, "\n")
	}
	written, err := url.PathUnescape(path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", listening(t, lines).Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "GET "+written+" HTTP/1.1\r\nHost: x\r\n\r\n")
	conn.Close()
	if got := <-seen; !strings.Contains(got, "\nHidden: yes\n") {
		t.Fatalf("the attack does not work by a naive proxy: the server saw %q", got)
	}
	for title, request := range map[string]string{
		"escaped":           "GET http://api.example.org" + path + " HTTP/1.1\r\nHost: x\r\n",
		"a bare return":     "GET http://api.example.org/a HTTP/1.1\r\nHost: x\r\nX: a\rHidden: yes\r\n",
		"in the method":     "GET\r\nHidden:yes http://api.example.org/a HTTP/1.1\r\nHost: x\r\n",
		"in the version":    "GET http://api.example.org/a HTTP/1.1\rHidden: yes\r\nHost: x\r\n",
		"a NUL in a header": "GET http://api.example.org/a HTTP/1.1\r\nHost: x\r\nX: a\x00\r\n",
	} {
		w := newWorld(t)
		var headers []http.Header
		plainServer(t, w, func(_ http.ResponseWriter, r *http.Request) { headers = append(headers, r.Header) })
		answer := raw(t, w.start(api), request+"Connection: close\r\n\r\n")
		for _, h := range headers {
			if h.Get("Hidden") != "" || strings.ContainsAny(h.Get("X"), "\r\n\x00") {
				t.Errorf("%s: the server saw %q, the client %q", title, h, answer)
			}
		}
	}
}
