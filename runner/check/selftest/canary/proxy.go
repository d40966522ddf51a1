package canary

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/spec"
)

// Refused is the result of a step that the proxy of the run has refused.
const Refused = "refused"

// askProxy asks the proxy of the run for a tunnel to an address.
func askProxy(address string) string {
	proxy := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), spec.ProxyPort)
	c, err := net.DialTimeout("tcp", proxy.String(), Timeout)
	if err != nil {
		return errorName(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * Timeout))
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address); err != nil {
		return errorName(err)
	}
	status, err := bufio.NewReader(c).ReadString('\n')
	switch {
	case err != nil:
		return errorName(err)
	case strings.HasPrefix(status, "HTTP/1.1 403 "), strings.HasPrefix(status, "HTTP/1.1 400 "):
		return Refused
	case strings.HasPrefix(status, "HTTP/1.1 200 "):
		return OK
	}
	return "error" // it tried to reach it
}
