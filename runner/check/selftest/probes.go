package selftest

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// tryOutside makes the control.
func (p probe) tryOutside() probe {
	said := strings.Join(slices.Collect(maps.Values(perform(p.try).Got)), " ") // of the one step that these have
	p.controlled, p.control = said == succeeded, said+" outside"
	if p.controlled {
		p.control = "reached outside"
	}
	return p
}

func tcpProbe(host, port string) probe {
	address := net.JoinHostPort(host, port)
	return probe{
		check: "tcp", target: address,
		try:   try{Do: "tcp", At: address},
		judge: refused([]string{"connect"}, closedAt(host)...),
	}
}

// closedAt are the words of a host that is out of reach.
func closedAt(host string) []string {
	at, err := netip.ParseAddr(host)
	switch {
	case err != nil && isLocalName(host), err == nil && at.IsLoopback(), err == nil && at.IsUnspecified():
		return closedLoopback
	case err != nil:
		return append([]string{"unresolved"}, closedNetwork...)
	case at.Zone() != "":
		return closedZone
	}
	return closedNetwork
}

func socketProbe(path string) probe {
	return probe{
		check: "socket", target: path,
		try:   try{Do: "socket", At: path},
		judge: refused([]string{"connect"}, closedSocket...),
	}
}

func lookupProbe(name string) probe {
	return probe{
		check: "lookup", target: name,
		try:   try{Do: "lookup", At: name},
		judge: refused([]string{"lookup"}, "unresolved"),
	}
}

func dnsProbe(server string) probe {
	host, _, _ := net.SplitHostPort(server)
	return probe{
		check: "dns", target: server,
		try:   try{Do: "dns", At: server},
		judge: refused([]string{"ask"}, closedAt(host)...),
	}
}
