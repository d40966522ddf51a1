package proxy

import (
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/egress"
)

// BenchmarkDownload compares a download over TLS by the proxy with one without it, in turns.
func BenchmarkDownload(b *testing.B) {
	const size = 1 << 28
	w := newWorld(b)
	server := tlsServer(b, w, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", strconv.Itoa(size))
		block := make([]byte, 1<<16)
		for range size / len(block) {
			if _, err := rw.Write(block); err != nil {
				return
			}
		}
	})
	w.names["example.com"] = w.names["api.example.org"]
	through := client(b, w.start(egress.Config{Hosts: []string{"example.com"}, Upload: 1 << 30}), server)
	straight := server.Client()
	for name, c := range map[string]struct {
		client *http.Client
		url    string
	}{"proxy": {through, "https://example.com/"}, "without": {straight, server.URL}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				answer, err := c.client.Get(c.url)
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, answer.Body); n != size || err != nil {
					b.Fatal(n, err)
				}
				answer.Body.Close()
			}
		})
	}
}
