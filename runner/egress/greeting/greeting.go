// Package greeting reads the greeting of a TLS client (RFC 8446, section 4.1.2), also if it is spread over records and segments,
// without taking part in the handshake.
package greeting

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	recordHandshake = 22
	clientHello     = 1

	maxGreeting = 64 << 10 // bytes; those with post-quantum keys have 2 KiB
	maxRecord   = 1 << 14

	extensionServerName = 0
	extensionALPN       = 16
	extensionECH        = 0xfe0d
	extensionESNI       = 0xffce // its draft

	nameTypeHost = 0
)

// Greeting is what a client says before anything is encrypted.
type Greeting struct {
	ServerName string
	Protocols  []string // of ALPN
	Raw        []byte   // all that was read, which the server is to get
}

// The reasons to refuse a greeting.
var (
	errNoTLS     = errors.New("what follows CONNECT is no TLS greeting")
	errEncrypted = errors.New("the TLS greeting has an encrypted part (ECH, or GREASE in its place, as browsers send it)")
	errNoName    = errors.New("the TLS greeting names no server")
	errNames     = errors.New("the TLS greeting names several servers")
	errTooLong   = fmt.Errorf("the TLS greeting is longer than %d bytes", maxGreeting)
)

// Read reads up to the greeting's end. It returns what it has read also with an error.
func Read(r io.Reader) (Greeting, error) {
	g := Greeting{}
	message, err := g.message(r)
	if err != nil {
		return g, err
	}
	err = g.parse(message)
	return g, err
}

// message collects the first handshake message from its records.
func (g *Greeting) message(r io.Reader) ([]byte, error) {
	var message []byte
	for {
		fragment, err := g.record(r)
		if err != nil {
			return nil, err
		}
		message = append(message, fragment...)
		switch done, err := complete(message); {
		case err != nil:
			return nil, err
		case done:
			return message[4:], nil
		}
	}
}

// record reads one handshake record. An empty one is refused, as by servers. The type is judged by itself: a client that speaks
// first in another protocol may send no more.
func (g *Greeting) record(r io.Reader) ([]byte, error) {
	kind, err := g.take(r, 1)
	if err != nil {
		return nil, err
	}
	if kind[0] != recordHandshake {
		return nil, errNoTLS
	}
	head, err := g.take(r, 4)
	if err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint16(head[2:]))
	if head[0] != 3 || size == 0 || size > maxRecord {
		return nil, errNoTLS
	}
	return g.take(r, size)
}

// take reads n bytes.
func (g *Greeting) take(r io.Reader, n int) ([]byte, error) {
	start := len(g.Raw)
	if start+n > maxGreeting {
		return nil, errTooLong
	}
	g.Raw = append(g.Raw, make([]byte, n)...)
	read, err := io.ReadFull(r, g.Raw[start:])
	g.Raw = g.Raw[:start+read]
	return g.Raw[start:], short(err)
}

func short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errNoTLS
	}
	return err
}

// complete reports whether the message is whole. Nothing may follow it: a client waits for the answer.
func complete(message []byte) (bool, error) {
	if message[0] != clientHello {
		return false, errNoTLS
	}
	if len(message) < 4 {
		return false, nil
	}
	size := 4 + (int(message[1])<<16 | int(message[2])<<8 | int(message[3]))
	switch {
	case size > maxGreeting:
		return false, errTooLong
	case len(message) > size:
		return false, errNoTLS
	}
	return len(message) == size, nil
}

// parse reads the message strictly: what a server might read otherwise is refused.
func (g *Greeting) parse(message []byte) error {
	m := reader{rest: message}
	m.skip(2 + 32) // version, random
	m.block(1)     // session
	m.block(2)     // cipher suites
	m.block(1)     // compression
	extensions := reader{rest: m.block(2)}
	if m.failed || len(m.rest) > 0 {
		return errNoTLS
	}
	var seen []int
	for len(extensions.rest) > 0 {
		kind, content := extensions.number(2), extensions.block(2)
		if extensions.failed {
			return errNoTLS
		}
		if slices.Contains(seen, kind) {
			if kind == extensionServerName {
				return errNames
			}
			return errNoTLS
		}
		seen = append(seen, kind)
		if err := g.extension(kind, content); err != nil {
			return err
		}
	}
	if g.ServerName == "" {
		return errNoName
	}
	return nil
}

func (g *Greeting) extension(kind int, content []byte) (err error) {
	switch kind {
	case extensionECH, extensionESNI:
		return errEncrypted
	case extensionServerName:
		g.ServerName, err = serverName(content)
	case extensionALPN:
		g.Protocols, err = protocols(content)
	}
	return err
}

// serverName reads the extension's one name (RFC 6066).
func serverName(content []byte) (string, error) {
	outer := reader{rest: content}
	list := reader{rest: outer.block(2)}
	kind, name := list.number(1), list.block(2)
	switch {
	case outer.failed || list.failed || len(outer.rest) > 0 || kind != nameTypeHost || len(name) == 0:
		return "", errNoName
	case len(list.rest) > 0:
		return "", errNames
	}
	return string(name), nil
}

func protocols(content []byte) (names []string, err error) {
	outer := reader{rest: content}
	list := reader{rest: outer.block(2)}
	for len(list.rest) > 0 {
		names = append(names, string(list.block(1)))
	}
	if outer.failed || list.failed || len(outer.rest) > 0 {
		return nil, errNoTLS
	}
	return names, nil
}

// reader takes a message apart; after a failure it gives nothing.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) skip(n int) []byte {
	if r.failed || len(r.rest) < n {
		r.failed, r.rest = true, nil
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) number(bytes int) (n int) {
	for _, b := range r.skip(bytes) {
		n = n<<8 | int(b)
	}
	return n
}

// block reads a vector, whose length is in so many bytes before it.
func (r *reader) block(bytes int) []byte { return r.skip(r.number(bytes)) }
