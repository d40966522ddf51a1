package selftest

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
)

// listener counts the connections or datagrams that reach it.
type listener struct {
	Address string
	network string
	secret  string // of Count's own connection
	count   atomic.Int64
	counted chan struct{} // Count's own connection has arrived
	close   func() error
}

// newListener listens on TCP or a unix socket. Port 0 becomes a free port. Only the listener may know the secret.
func newListener(network, address, secret string) (*listener, error) {
	socket, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	l := makeListener(network, address, secret, socket.Addr(), socket.Close)
	go func() {
		for {
			c, err := socket.Accept()
			if err != nil {
				return
			}
			l.count.Add(1)
			go l.serve(c)
		}
	}()
	return l, nil
}

// newDNSListener listens on UDP and answers every question.
func newDNSListener(address, secret string) (*listener, error) {
	socket, err := net.ListenPacket("udp", address)
	if err != nil {
		return nil, err
	}
	l := makeListener("udp", address, secret, socket.LocalAddr(), socket.Close)
	go func() {
		message := make([]byte, canary.MaxDNS)
		for {
			n, from, err := socket.ReadFrom(message)
			if err != nil {
				return
			}
			l.count.Add(1)
			if string(message[:n]) == secret {
				l.ownArrived()
			} else if answer := canary.ReplyDNS(message[:n]); answer != nil {
				_, _ = socket.WriteTo(answer, from) // a client that misses it retries
			}
		}
	}()
	return l, nil
}

// makeListener uses the host of the given address, with its zone, and the port that was chosen.
func makeListener(network, address, secret string, bound net.Addr, stop func() error) *listener {
	l := &listener{Address: address, network: network, secret: secret, counted: make(chan struct{}, 1), close: stop}
	if host, _, err := net.SplitHostPort(address); err == nil {
		_, port, _ := net.SplitHostPort(bound.String())
		l.Address = net.JoinHostPort(host, port)
	}
	return l
}

// Close ends the listener.
func (l *listener) Close() error { return l.close() }

func (l *listener) serve(c net.Conn) {
	defer c.Close()
	if c.SetDeadline(time.Now().Add(canary.Timeout)) != nil {
		return
	}
	text := make([]byte, len(l.secret))
	if _, err := io.ReadFull(c, text); err == nil && string(text) == l.secret {
		l.ownArrived()
	}
}

func (l *listener) ownArrived() {
	l.count.Add(-1)
	select {
	case l.counted <- struct{}{}:
	default:
	}
}

// Count returns how often the listener was reached since the last call. It makes another connection, which arrives after all
// that were in progress and is not counted.
func (l *listener) Count() (int64, error) {
	c, err := net.DialTimeout(l.network, l.Address, canary.Timeout)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if _, err := io.WriteString(c, l.secret); err != nil {
		return 0, err
	}
	select {
	case <-l.counted:
		return l.count.Swap(0), nil
	case <-time.After(canary.Timeout):
		return 0, fmt.Errorf("%s %s does not listen any more", l.network, l.Address)
	}
}

// hostAddresses returns every address of an interface that is up, with its zone if it needs one.
func hostAddresses() ([]string, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, i := range interfaces {
		list, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 {
			continue
		}
		for _, a := range list {
			at, isIP := a.(*net.IPNet)
			switch {
			case !isIP:
			case at.IP.IsLinkLocalUnicast() && at.IP.To4() == nil:
				found = append(found, at.IP.String()+"%"+i.Name)
			default:
				found = append(found, at.IP.String())
			}
		}
	}
	return found, nil
}
