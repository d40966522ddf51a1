package unotify

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// address is a socket address as a process passed it (struct sockaddr).
type address struct {
	inet netip.AddrPort // of AF_INET and AF_INET6
	unix []byte         // of AF_UNIX: a path, or an abstract name after a NUL
}

// maxAddress is the kernel's limit in bytes: sizeof(struct sockaddr_storage).
const maxAddress = 128

// parseAddress reads a socket address. It is not ok if it makes no event: other families, an unnamed unix address, and
// what the kernel refuses as too short or too long. send is for sendto(2), which treats an address without a family as
// AF_INET (net/ipv4/udp.c).
func parseAddress(raw []byte, send bool) (a address, ok bool) {
	if len(raw) < 2 {
		return a, false
	}
	switch family := binary.NativeEndian.Uint16(raw); {
	case family == unix.AF_INET, family == unix.AF_UNSPEC && send:
		return parseInet(raw, 4, 4, unix.SizeofSockaddrInet4)
	case family == unix.AF_INET6:
		return parseInet(raw, 8, 16, 24) // the kernel needs no scope here (SIN6_LEN_RFC2133)
	case family == unix.AF_UNIX && len(raw) <= unix.SizeofSockaddrUnix:
		return parseUnix(raw[2:])
	}
	return a, false
}

// parseInet reads an address of size bytes at offset; the port is before it.
func parseInet(raw []byte, offset, size, least int) (a address, ok bool) {
	if len(raw) < least {
		return a, false
	}
	ip, ok := netip.AddrFromSlice(raw[offset : offset+size])
	a.inet = netip.AddrPortFrom(ip.Unmap(), binary.BigEndian.Uint16(raw[2:]))
	return a, ok
}

// parseUnix reads the name of a unix socket (unix(7)): an abstract one takes all of the address, a path ends at a NUL or
// with the address.
func parseUnix(name []byte) (a address, ok bool) {
	if len(name) == 0 {
		return a, false
	}
	if name[0] != 0 {
		name, _, _ = bytes.Cut(name, []byte{0})
	}
	return address{unix: bytes.Clone(name)}, true
}

// families are the names of common socket families (socket(2)).
var families = map[int]string{
	unix.AF_NETLINK: "AF_NETLINK", unix.AF_PACKET: "AF_PACKET", unix.AF_VSOCK: "AF_VSOCK", unix.AF_ALG: "AF_ALG",
	unix.AF_BLUETOOTH: "AF_BLUETOOTH", unix.AF_CAN: "AF_CAN", unix.AF_TIPC: "AF_TIPC", unix.AF_XDP: "AF_XDP",
	unix.AF_KEY: "AF_KEY", unix.AF_RDS: "AF_RDS", unix.AF_SMC: "AF_SMC", unix.AF_KCM: "AF_KCM", unix.AF_QIPCRTR: "AF_QIPCRTR",
	unix.AF_UNSPEC: "AF_UNSPEC", unix.AF_INET: "AF_INET", unix.AF_INET6: "AF_INET6",
}
