// Package egress has what a launcher and the proxy of a run say to each other. The proxy (package proxy) is a process of its own, of
// scidex-oci-net: only it has a network, and only the run reaches it, by a socket that listens in the run's empty network
// namespace (docs/adr/0050).
package egress

import "net/netip"

// ListenerFD is that socket in the proxy's process, and Ready what it says first when it serves.
const (
	ListenerFD = 3
	Ready      = "ready"
)

// MaxRequests bounds the requests of a run. One more is recorded, as refused.
const MaxRequests = 10_000

// maxRecord bounds a line of the proxy, in bytes.
const maxRecord = 16 << 10

// Config is what the launcher tells its proxy, as a line of JSON on its standard input, whose end is the proxy's. The proxy answers
// on its standard output with Ready, and then with a line of JSON for each request that has ended (result.Request).
type Config struct {
	// Hosts are those of spec.Analysis.
	Hosts []string `json:"hosts"`
	// Deny are networks that no request goes to, in addition to those that are not public.
	Deny []netip.Prefix `json:"deny,omitempty"`
	// Own are the host names of the platform's own services, the catalog and the blob store.
	Own []string `json:"own,omitempty"`
	// Inject are headers whose values the analysis is not given.
	Inject []Injection `json:"inject,omitempty"`
	// Upload bounds what all requests send, in bytes.
	Upload int64 `json:"upload"`
}
