// Package access says who may call the server over HTTP: programs of this machine that have the key, and no page of a browser
// that comes from elsewhere.
package access

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/loopback"
	"github.com/scidex-ai/scidex-oci/outputs/connlimit"
)

// bodyTime bounds how long the body of a request takes.
const bodyTime = 30 * time.Second

// Loopback checks the address to listen on, which must be of the loopback.
func Loopback(address string) (string, error) {
	if _, _, err := net.SplitHostPort(address); err != nil || !loopback.Names(address) {
		return "", errors.New("give an address of the loopback with a port, such as 127.0.0.1:8765; a tunnel (ssh -L) reaches it from elsewhere")
	}
	return address, nil
}

// Guard passes on requests with the key, which come from this machine (DNS rebinding has a name of its own in Host). Their bodies
// are read before that, so that they are bounded in size, most bytes, and in time. The connection of one with the key keeps its place.
func Guard(key Key, most int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !loopback.Names(r.Host) || !fromHere(r.Header["Origin"]):
			w.Header().Set("Connection", "close")
			http.Error(w, "scidex-oci mcp answers only programs of this machine: Host and Origin name the loopback", http.StatusForbidden)
		case !key.opens(r.Header["Authorization"]):
			w.Header().Set("Connection", "close")
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, `the key is missing or wrong: give "Authorization: Bearer KEY"`, http.StatusUnauthorized)
		case !connlimit.Keep(r):
			http.Error(w, "too many connections are open; close one first", http.StatusServiceUnavailable)
		case readBody(w, r, most):
			next.ServeHTTP(w, r)
		}
	})
}

// fromHere reports whether no page of another site has sent a request.
func fromHere(origins []string) bool {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || !loopback.Names(u.Hostname()) {
			return false
		}
	}
	return true
}

// readBody reads a body within bounds, and answers if it cannot.
func readBody(w http.ResponseWriter, r *http.Request, most int64) bool {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // not all writers have one
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	_ = control.SetReadDeadline(time.Time{}) // the answer may take long
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(w, "the body is too large", http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, "the body did not come", http.StatusRequestTimeout)
	default:
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return err == nil
}
