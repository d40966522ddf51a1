package egress

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/scidex-ai/scidex-oci/spec"
)

// Injection is a header that the proxy adds to requests of a host, whose value the analysis is not given.
type Injection struct {
	Method string `json:"method,omitempty"` // empty: any
	Host   string `json:"host"`
	Prefix string `json:"prefix"` // of the path; ends with '/'
	Header string `json:"header"`
	// Value is that of the launcher's Variable, which is read when a run starts.
	Value    string `json:"value"`
	Variable string `json:"-"`
}

var (
	injectionForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:([A-Z]+) )?([^/=]+)(/[^=?#]*)=([A-Za-z0-9-]+):env:([A-Za-z_][A-Za-z0-9_]*)$`)
	})

	// notInjected are headers that say where a message ends or whom it is for.
	notInjected = []string{
		"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "proxy-authorization", "expect",
	}
)

// ParseInjection parses "[METHOD ]HOST/PREFIX/=HEADER:env:VARIABLE", such as "GET api.example.org/v1/=Authorization:env:TOKEN".
func ParseInjection(text string) (Injection, error) {
	parts := injectionForm().FindStringSubmatch(text)
	if parts == nil {
		return Injection{}, fmt.Errorf("%q is not [METHOD ]HOST/PREFIX/=HEADER:env:VARIABLE, such as api.example.org/v1/=Authorization:env:TOKEN", text)
	}
	h, err := spec.ParseHost(parts[2])
	i := Injection{Method: parts[1], Host: h.Name, Prefix: parts[3], Header: parts[4], Variable: parts[5]}
	switch {
	case !strings.HasSuffix(i.Prefix, "/") || strings.Contains(i.Prefix, "%") || !PlainPath(i.Prefix):
		return i, fmt.Errorf("%q: %s must end with '/' and be written out, without '..', '//' and '%%'", text, i.Prefix)
	case err != nil:
		return i, err
	case h.Below || h.Port != 0:
		return i, fmt.Errorf("%q: a header is added for one host, on port 443: give only its name", text)
	case slices.Contains(notInjected, strings.ToLower(i.Header)):
		return i, fmt.Errorf("%q: the header %s is the proxy's own", text, i.Header)
	case i.Method == "TRACE" || i.Method == "CONNECT":
		return i, fmt.Errorf("%q: no header is added to %s", text, i.Method)
	}
	return i, nil
}

// For reports whether the header is added to a request, whose path is a PlainPath, unescaped.
func (i Injection) For(method, host, path string) bool {
	return (i.Method == "" || i.Method == method) && i.Host == host && strings.HasPrefix(path, i.Prefix)
}

// withValues are the injections that an analysis with such hosts has, with their values.
func (p Policy) withValues(hosts []spec.Host) (all []Injection, err error) {
	for _, i := range p.Inject {
		if !slices.ContainsFunc(hosts, func(h spec.Host) bool { return h.Covers(i.Host, spec.PortHTTPS) }) {
			continue
		}
		value, ok := os.LookupEnv(i.Variable)
		switch {
		case !ok || value == "":
			return nil, fmt.Errorf("--inject %s%s: the environment has no variable %s; export it first", i.Host, i.Prefix, i.Variable)
		case strings.ContainsAny(value, "\r\n\x00"):
			return nil, fmt.Errorf("--inject %s%s: the value of %s has a line break or a NUL byte", i.Host, i.Prefix, i.Variable)
		}
		i.Value = value
		all = append(all, i)
	}
	return all, nil
}
