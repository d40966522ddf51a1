package ui

import (
	"errors"
	"net"
	"net/netip"
)

// ErrAddress refuses an address that is not on the loopback.
var ErrAddress = errors.New("give an address of the loopback and a port, as 127.0.0.1:0 or [::1]:8080; from another host come by \"ssh -L\"")

// Listen listens at ADDRESS:PORT, to which only programs of this host can connect. Other addresses are refused with ErrAddress.
func Listen(address string) (net.Listener, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().IsLoopback() || at.Addr().Is4In6() || at.Addr().Zone() != "" {
		return nil, ErrAddress
	}
	return net.Listen("tcp", at.String())
}
