package greeting

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"testing/iotest"
)

// of returns what crypto/tls sends first with the configuration.
func of(t *testing.T, config *tls.Config) []byte {
	t.Helper()
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() {
		_ = tls.Client(theirs, config).Handshake()
		theirs.Close()
	}()
	g, err := Read(ours)
	if err != nil {
		t.Fatal(err)
	}
	return g.Raw
}

func plain(t *testing.T) []byte {
	t.Helper()
	return of(t, &tls.Config{ServerName: "api.example.org", NextProtos: []string{"h2", "http/1.1"}})
}

func TestRead(t *testing.T) {
	raw := plain(t)
	for title, r := range map[string]io.Reader{
		"at once":      bytes.NewReader(raw),
		"byte by byte": iotest.OneByteReader(bytes.NewReader(raw)),
		"in records":   bytes.NewReader(records(raw[5:], 7)),
		"and more":     io.MultiReader(bytes.NewReader(raw), bytes.NewReader([]byte("early data"))),
	} {
		g, err := Read(r)
		if err != nil || g.ServerName != "api.example.org" || !slices.Equal(g.Protocols, []string{"h2", "http/1.1"}) {
			t.Errorf("%s: %+v, %v", title, g, err)
		}
	}
}

// records spreads a message over records of a few bytes.
func records(message []byte, size int) (raw []byte) {
	for part := range slices.Chunk(message, size) {
		raw = append(raw, recordHandshake, 3, 1)
		raw = binary.BigEndian.AppendUint16(raw, uint16(len(part)))
		raw = append(raw, part...)
	}
	return raw
}

// with returns a greeting that has the extension at its end too.
func with(t *testing.T, raw []byte, kind uint16, content []byte) []byte {
	t.Helper()
	m := reader{rest: raw[9:]}
	m.skip(34)
	m.block(1)
	m.block(2)
	m.block(1)
	head := slices.Clone(raw[9 : len(raw)-len(m.rest)])
	extensions := slices.Clone(m.block(2))
	extensions = binary.BigEndian.AppendUint16(extensions, kind)
	extensions = binary.BigEndian.AppendUint16(extensions, uint16(len(content)))
	extensions = append(extensions, content...)
	body := append(binary.BigEndian.AppendUint16(head, uint16(len(extensions))), extensions...)
	return records(append([]byte{clientHello, 0, byte(len(body) >> 8), byte(len(body))}, body...), maxRecord)
}

func names(list ...string) []byte {
	var all []byte
	for _, name := range list {
		all = append(all, nameTypeHost)
		all = binary.BigEndian.AppendUint16(all, uint16(len(name)))
		all = append(all, name...)
	}
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(all))), all...)
}

func TestReadRefuses(t *testing.T) {
	raw := plain(t)
	nameless := of2(t, &tls.Config{InsecureSkipVerify: true})
	other := slices.Clone(raw)
	other[5] = 2
	trailing := append(slices.Clone(raw), raw[5:]...)
	binary.BigEndian.PutUint16(trailing[3:], uint16(len(trailing)-5))
	for title, c := range map[string]struct {
		raw  []byte
		want error
	}{
		"nothing":               {nil, errNoTLS},
		"SMTP":                  {[]byte("EHLO example.org\r\n"), errNoTLS},
		"HTTP":                  {[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), errNoTLS},
		"PostgreSQL":            {[]byte{0, 0, 0, 8, 4, 210, 22, 47}, errNoTLS},
		"SSH":                   {[]byte("SSH-2.0-x\r\n"), errNoTLS},
		"cut":                   {raw[:len(raw)-1], errNoTLS},
		"SSL 2":                 {append([]byte{recordHandshake, 2, 0}, raw[3:]...), errNoTLS},
		"an empty record":       {[]byte{recordHandshake, 3, 1, 0, 0}, errNoTLS},
		"another message":       {other, errNoTLS},
		"a second message":      {trailing, errNoTLS},
		"no name":               {nameless, errNoName},
		"a second extension":    {with(t, raw, extensionServerName, names("other.example.org")), errNames},
		"a second name":         {with(t, nameless, extensionServerName, names("api.example.org", "other.example.org")), errNames},
		"a name of other kind":  {with(t, nameless, extensionServerName, []byte{0, 4, 1, 0, 1, 'a'}), errNoName},
		"an empty name":         {with(t, nameless, extensionServerName, names("")), errNoName},
		"a name with a tail":    {with(t, nameless, extensionServerName, append(names("a.example.org"), 0)), errNoName},
		"encrypted":             {with(t, raw, extensionECH, []byte{0}), errEncrypted},
		"encrypted, as a draft": {with(t, raw, extensionESNI, []byte{0}), errEncrypted},
		"protocols twice":       {with(t, raw, extensionALPN, []byte{0, 3, 2, 'h', '2'}), errNoTLS},
		"endless":               {records(append([]byte{clientHello, 1, 0, 0}, make([]byte, 1<<16)...), maxRecord), errTooLong},
	} {
		t.Run(title, func(t *testing.T) {
			g, err := Read(bytes.NewReader(c.raw))
			if !errors.Is(err, c.want) {
				t.Errorf("%+v, %v, want %v", g.ServerName, err, c.want)
			}
			if !bytes.HasPrefix(c.raw, g.Raw) {
				t.Error("it returned what it has not read")
			}
		})
	}
	g, err := Read(bytes.NewReader(with(t, nameless, extensionServerName, names("one.example.org"))))
	if err != nil || g.ServerName != "one.example.org" {
		t.Errorf("the tests' own greeting: %+v, %v", g, err)
	}
}

// of2 is of for a greeting that Read refuses.
func of2(t *testing.T, config *tls.Config) []byte {
	t.Helper()
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() { _ = tls.Client(theirs, config).Handshake() }()
	g, err := Read(ours)
	if err == nil {
		t.Fatal("it is not refused")
	}
	return g.Raw
}

func FuzzRead(f *testing.F) {
	f.Add([]byte{recordHandshake, 3, 1, 0, 4, clientHello, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		g, err := Read(bytes.NewReader(raw))
		if err == nil && (g.ServerName == "" || !bytes.HasPrefix(raw, g.Raw)) {
			t.Errorf("%+v", g)
		}
		if len(g.Raw) > maxGreeting {
			t.Errorf("it read %d bytes", len(g.Raw))
		}
	})
}
