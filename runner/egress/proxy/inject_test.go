package proxy

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/egress"
)

const token = "Bearer of-the-platform"

// injecting is a proxy that adds a header to what is below /v1/ of example.com, and what its server saw.
func injecting(t *testing.T) (w *world, proxy http.Handler, seen *[]string) {
	t.Helper()
	w, seen = newWorld(t), &[]string{}
	server := tlsServer(t, w, func(_ http.ResponseWriter, r *http.Request) {
		*seen = append(*seen, r.Method+" "+r.URL.Path+" "+strings.Join(r.Header["Authorization"], ","))
	})
	plainServer(t, w, func(_ http.ResponseWriter, r *http.Request) {
		*seen = append(*seen, "in plain text: "+r.URL.Path+" "+r.Header.Get("Authorization"))
	})
	w.names["example.com"] = w.names["api.example.org"]
	network := w.network()
	network.Roots = x509.NewCertPool()
	network.Roots.AddCert(server.Certificate())
	p, err := New(egress.Config{
		Hosts: []string{"example.com", "other.example.org"}, Upload: 1 << 20,
		Inject: []egress.Injection{{Method: "GET", Host: "example.com", Prefix: "/v1/", Header: "Authorization", Value: token}},
	}, network, func(r result.Request) { w.records = append(w.records, r) })
	if err != nil {
		t.Fatal(err)
	}
	return w, p, seen
}

func TestInject(t *testing.T) {
	for request, want := range map[string]string{
		"GET http://example.com/v1/a":         "GET /v1/a " + token,
		"GET http://example.com/v1/a%20b?x=1": "GET /v1/a b " + token,
		"GET http://EXAMPLE.com:80/v1/":       "GET /v1/ " + token,
		"POST http://example.com/v1/a":        "in plain text: /v1/a own",
		"GET http://example.com/v2/a":         "in plain text: /v2/a own",
		"GET http://example.com/v1":           "in plain text: /v1 own",
		"GET http://example.com/v1/../v2/a":   "",
		"GET http://example.com/v1/%2e%2e/a":  "",
		"GET http://example.com//v1/a":        "",
		"GET http://example.com/v1/..%3b/v2":  "",
		"GET http://example.com/v1/%c0%ae./b": "",
		"GET http://example.com/v1/.%09./v2":  "",
		"GET http://example.com:443/v1/a":     "",
		"TRACE http://example.com/v1/a":       "",
		"GET http://api.example.org/v1/a":     "",
	} {
		w, proxy, seen := injecting(t)
		method, url, _ := strings.Cut(request, " ")
		r := httptest.NewRequest(method, url, nil)
		r.Header.Set("Authorization", "own")
		answer := httptest.NewRecorder()
		proxy.ServeHTTP(answer, r)
		if got := strings.Join(*seen, "; "); got != want {
			t.Errorf("%s: servers saw %q, want %q: %s", request, got, want, answer.Body)
		}
		if strings.Contains(w.records[0].Why, token) {
			t.Errorf("%s: %+v", request, w.records)
		}
	}
}

// TestInjectUntrusted: a server without the certificate gets nothing.
func TestInjectUntrusted(t *testing.T) {
	w, proxy, seen := injecting(t)
	proxy.(*Proxy).network.Roots = x509.NewCertPool()
	answer := httptest.NewRecorder()
	proxy.ServeHTTP(answer, httptest.NewRequest("GET", "http://example.com/v1/a", nil))
	if len(*seen) > 0 || answer.Code != http.StatusBadGateway || w.records[0].Verdict != result.RequestFailed {
		t.Errorf("%q, %d %s, %+v", *seen, answer.Code, answer.Body, w.records)
	}
}
