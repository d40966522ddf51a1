package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// exchange is one request on its way.
type exchange struct {
	proxy    *Proxy
	started  time.Time
	record   result.Request
	upstream *metered // nil: none was dialled
	client   net.Conn // of a tunnel; else nil
}

// refusal is an answer of the proxy's own, one sentence for the user.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func refuse(text string, args ...any) error {
	return &refusal{http.StatusForbidden, fmt.Sprintf(text, args...)}
}

func malformed(text string, args ...any) error {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(text, args...)}
}

// answer tells the client, whose connection ends with it: what it has sent behind the request is not read.
func answer(w http.ResponseWriter, err error) error {
	status := http.StatusBadGateway
	var own *refusal
	if errors.As(err, &own) {
		status = own.status
	}
	w.Header().Set("Connection", "close")
	w.Header().Set("X-Scidex-Oci", "proxy")
	http.Error(w, "scidex-oci: "+err.Error(), status)
	return err
}

// fail notes why the request did not succeed.
func (x *exchange) fail(err error) {
	if err == nil {
		return
	}
	x.record.Verdict, x.record.Why = result.RequestFailed, err.Error()
	var own *refusal
	if errors.As(err, &own) {
		x.record.Verdict = result.RequestRefused
	}
}

// end records the exchange. The client chose its method and host.
func (x *exchange) end() {
	r := x.record
	r.Method, r.Host, r.Why = printable(r.Method, 20), printable(r.Host, 260), format.Line(r.Why, 400)
	if x.upstream != nil {
		r.Sent, r.Received = x.upstream.sent.Load(), x.upstream.received.Load()
	}
	r.MS = time.Since(x.started).Milliseconds()
	x.proxy.record(r)
}

func printable(text string, most int) string {
	clean := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
	return clean[:min(len(clean), most)]
}

// admit checks the host that is asked for.
func (x *exchange) admit(authority string, usual uint16) error {
	name, port, err := split(authority, usual)
	if err != nil {
		return err
	}
	x.record.Host, x.record.Port = name, port
	for _, own := range x.proxy.own {
		if name == own || strings.HasSuffix(name, "."+own) {
			return refuse("%s is the platform's own, which no analysis may reach", name)
		}
	}
	for _, h := range x.proxy.hosts {
		if h.Covers(name, port) {
			return nil
		}
	}
	return refuse("%s:%d is not among the hosts that this analysis may ask (%s); name it with --allow-host", name, port, x.proxy.permitted())
}

func (p *Proxy) permitted() string {
	var names []string
	for _, h := range p.hosts {
		names = append(names, h.String())
	}
	return strings.Join(names, ", ")
}

// split takes "HOST:PORT" apart, or "HOST" with the usual port.
func split(authority string, usual uint16) (name string, port uint16, err error) {
	name, text, given := strings.Cut(strings.ToLower(authority), ":")
	if !given && usual != 0 {
		return name, usual, nil
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number == 0 {
		return "", 0, malformed("%q is not HOST:PORT with the name of a host", printable(authority, 260))
	}
	return name, uint16(number), nil
}

// dial connects to the host that was admitted.
func (x *exchange) dial(ctx context.Context) (net.Conn, error) {
	conn, address, err := x.proxy.network.connect(ctx, x.record.Host, x.record.Port)
	if err != nil {
		return nil, err
	}
	x.record.Address = address.String()
	upstream := &metered{Conn: conn, up: &x.proxy.upload, down: &x.proxy.download}
	if !x.proxy.live.connected(x, upstream) {
		conn.Close()
		return nil, context.Canceled
	}
	return upstream, nil
}
