package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/egress/greeting"
)

// tunnel connects the client with the host of its CONNECT when the client has greeted that host by name.
func (x *exchange) tunnel(w http.ResponseWriter, r *http.Request) error {
	if err := x.admit(r.Host, 0); err != nil {
		return answer(w, err)
	}
	upstream, err := x.dial(r.Context())
	if err != nil {
		return answer(w, err)
	}
	defer upstream.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	defer client.Close()
	if !x.proxy.live.hijacked(x, client) {
		return context.Canceled
	}
	if _, err := client.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		return err
	}
	_ = client.SetDeadline(time.Now().Add(greetingTimeout))
	greeted, err := greeting.Read(buffered.Reader)
	if err = judge(greeted, err, x.record.Host); err != nil {
		_, _ = client.Write(accessDenied)
		return err
	}
	_ = client.SetDeadline(time.Time{})
	if _, err := upstream.Write(greeted.Raw); err != nil {
		return err
	}
	return relay(half{client, buffered.Reader}, half{upstream, upstream})
}

// accessDenied is a fatal alert of TLS (RFC 8446, section 6.2), which clients show.
var accessDenied = []byte{21, 3, 3, 0, 2, 2, 49}

// databases are the protocols by which databases are spoken to over TLS (ALPN).
var databases = []string{"postgresql", "tds/8.0", "mysql", "mongodb", "redis", "tns", "cassandra"}

// judge refuses a greeting that is not for the host.
func judge(g greeting.Greeting, err error, host string) error {
	if err != nil {
		return refuse("%v: a tunnel to %s carries only TLS for that host", err, host)
	}
	if strings.ToLower(g.ServerName) != host {
		return refuse("the TLS greeting is for %q, and the tunnel for %s", printable(g.ServerName, 260), host)
	}
	for _, protocol := range g.Protocols {
		if slices.Contains(databases, strings.ToLower(protocol)) {
			return refuse("the TLS greeting asks for the protocol %q of a database", protocol)
		}
	}
	return nil
}

// half is one side of a tunnel; what was read ahead of it is in from.
type half struct {
	net.Conn
	from io.Reader
}

// relay copies both ways until both have ended. An error ends both at once, and is the server's or a bound's: that the client is gone
// is none.
func relay(client, server half) error {
	var up, down error
	var both sync.WaitGroup
	both.Go(func() { up = pass(server, client); stop(up, client, server) })
	both.Go(func() { down = pass(client, server); stop(down, client, server) })
	both.Wait()
	for _, err := range []error{up, down} {
		if own := bound(err); own != nil {
			return own
		}
	}
	return nil
}

// pass copies one way, and ends that.
func pass(to, from half) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{to.Conn}, struct{ io.Reader }{from.from}, make([]byte, 128<<10))
	if err == nil {
		_ = closeWrite(to.Conn)
	}
	return err
}

func stop(err error, sides ...half) {
	if err == nil {
		return
	}
	for _, side := range sides {
		_ = side.Close()
	}
}
