package selftest

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"time"
)

// ear is a listener of ours on the host: it counts who reaches it.
type ear struct {
	network, address string
	secret           string // what our own knock says
	count            atomic.Int64
	knocked          chan struct{}
	close            func() error
}

// listen makes an ear for TCP or a unix socket. A port that is 0 is chosen.
func listen(network, address, secret string) (*ear, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	e := newEar(network, address, secret, l.Close)
	if at, isTCP := l.Addr().(*net.TCPAddr); isTCP {
		e.setPort(at.Port)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			e.count.Add(1)
			go e.serve(c)
		}
	}()
	return e, nil
}

// listenDNS makes an ear for UDP that answers every question.
func listenDNS(address, secret string) (*ear, error) {
	c, err := net.ListenPacket("udp", address)
	if err != nil {
		return nil, err
	}
	e := newEar("udp", address, secret, c.Close)
	if at, isUDP := c.LocalAddr().(*net.UDPAddr); isUDP {
		e.setPort(at.Port)
	}
	go func() {
		said := make([]byte, dnsMax)
		for {
			n, from, err := c.ReadFrom(said)
			if err != nil {
				return
			}
			e.count.Add(1)
			if string(said[:n]) == secret {
				e.ownKnock()
			} else if answer := reply(said[:n]); answer != nil {
				_, _ = c.WriteTo(answer, from) // who does not get it asks again
			}
		}
	}()
	return e, nil
}

func newEar(network, address, secret string, stop func() error) *ear {
	return &ear{network: network, address: address, secret: secret, knocked: make(chan struct{}, 1), close: stop}
}

// setPort writes the port out; the host stays as it was given, with its zone.
func (e *ear) setPort(port int) {
	if host, _, err := net.SplitHostPort(e.address); err == nil {
		e.address = net.JoinHostPort(host, strconv.Itoa(port))
	}
}

func (e *ear) serve(c net.Conn) {
	defer c.Close()
	if c.SetDeadline(time.Now().Add(patience)) != nil {
		return
	}
	said := make([]byte, len(e.secret))
	if _, err := io.ReadFull(c, said); err == nil && string(said) == e.secret {
		e.ownKnock()
	}
}

func (e *ear) ownKnock() {
	e.count.Add(-1)
	select {
	case e.knocked <- struct{}{}:
	default:
	}
}

// heard returns how often the ear was reached since it was asked last. A knock of our own comes after
// everything that was under way, and is not counted.
func (e *ear) heard() (int64, error) {
	c, err := net.DialTimeout(e.network, e.address, patience)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if _, err := io.WriteString(c, e.secret); err != nil {
		return 0, err
	}
	select {
	case <-e.knocked:
		return e.count.Swap(0), nil
	case <-time.After(patience):
		return 0, fmt.Errorf("%s %s does not hear any more", e.network, e.address)
	}
}

// addresses returns every address of an interface that is up, with its zone where it needs one.
func addresses() ([]string, error) {
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
