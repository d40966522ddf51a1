// Package loopback recognises names and addresses of this machine's loopback.
package loopback

import (
	"net"
	"net/netip"
	"strings"
)

// Names reports whether host or host:port, as in a URL, is this machine, without a look-up.
func Names(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}
