package registry

import (
	"net/http"
	"sync"
)

// transports has one transport for each host: authorities and client certificates are those of the host that a request
// goes to, also after a redirect.
type transports struct {
	base  *http.Transport
	certs []string // directories, as of CertDirs
	mutex sync.Mutex
	each  map[string]*http.Transport
}

// RoundTrip implements http.RoundTripper.
func (t *transports) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := t.host(r.URL.Host)
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	return to.RoundTrip(r)
}

func (t *transports) host(name string) (*http.Transport, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if to := t.each[name]; to != nil {
		return to, nil
	}
	config, err := hostTLS(t.certs, name)
	if err != nil {
		return nil, err
	}
	to := t.base.Clone()
	to.TLSClientConfig = config
	t.each[name] = to
	return to, nil
}

func (t *transports) closeIdle() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, to := range t.each {
		to.CloseIdleConnections()
	}
}
