package proxy

import (
	"net/http"

	"github.com/scidex-ai/scidex-oci/runner/egress"
	"github.com/scidex-ai/scidex-oci/spec"
)

// headers are those that a request gets on its way, over TLS; none: it goes as it came.
type headers []egress.Injection

// injected admits a plain request and returns its headers. One that has some goes to port 443.
func (x *exchange) injected(r *http.Request) (all headers, err error) {
	name, port, err := split(r.URL.Host, spec.PortHTTP)
	if err != nil || port != spec.PortHTTP {
		return nil, x.admit(r.URL.Host, spec.PortHTTP)
	}
	for _, i := range x.proxy.inject {
		if i.Host == name && !egress.PlainPath(r.URL.EscapedPath()) {
			return nil, refuse("the path of a request to %s, to which a header is added (--inject), has a '..', '//' or an escape that servers read in different ways", name)
		}
		if i.For(r.Method, name, r.URL.Path) {
			all = append(all, i)
		}
	}
	if len(all) > 0 {
		return all, x.admit(name, spec.PortHTTPS)
	}
	return nil, x.admit(r.URL.Host, spec.PortHTTP)
}

// add sets the headers, instead of the analysis' own of these names.
func (all headers) add(r *http.Request) {
	if len(all) == 0 {
		return
	}
	r.URL.Scheme, r.URL.Host = "https", all[0].Host
	for _, i := range all {
		r.Header.Set(i.Header, i.Value)
	}
}
