package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/rootfs/registry/registrytest"
)

// internet is two network namespaces of the test's own: one in which scidex-oci runs, and one with public addresses, names and servers,
// of which the host's network knows nothing.
type internet struct {
	t         *testing.T
	here      *os.File // where scidex-oci runs
	outside   *os.File
	authority *registrytest.Authority
	resolv    string // a resolv.conf

	files string // a directory that is served at /files/

	mu    sync.Mutex
	names map[string][]netip.Addr
	asked []string
	seen  []string // METHOD HOST PATH of plain and TLS requests

	sent, received atomic.Int64 // bytes of bodies that have no end
	open           atomic.Int64 // requests that the servers have not ended
}

const (
	hereAddress    = "93.184.216.2" // this host's
	hereAddress6   = "2a00:1450:7::2"
	resolver       = "93.184.216.1"
	resolver6      = "2a00:1450:7::1"
	publicAddress  = "93.184.215.14" // of api.example.org
	publicAddress6 = "2a00:1450:4::14"
	secondAddress  = "151.101.1.6" // of other.example.org
)

// inside are addresses that servers outside have too, so that nothing but the proxy keeps an analysis from them.
var inside = []string{
	"10.9.9.9", "169.254.169.254", "100.64.0.9", "192.168.7.7", "172.16.3.3", "198.18.0.7", "168.63.129.16", "192.0.0.9",
	"fd00:ec2::254", "64:ff9b::a09:909", "64:ff9b:1::9", "2002:a09:909::1", "2001:0:1::9", "fec0::9", "4000::9",
	"2a00:1450:8::5efe:a09:909", translating + "a09:909",
}

// translating is the prefix of a network that translates addresses behind it to IPv4, as its resolver announces.
const translating = "2a00:1450:64::"

// length is that of the prefix of one address.
func length(address string) string {
	if strings.Contains(address, ":") {
		return "/128"
	}
	return "/32"
}

func newInternet(t *testing.T) *internet {
	t.Helper()
	if !theHost.root {
		t.Skip("it takes root to make networks of a test's own; the tests as root run scidex-oci there as root and as an ordinary user")
	}
	i := &internet{t: t, authority: registrytest.NewAuthority(t), names: map[string][]netip.Addr{}, files: t.TempDir()}
	i.names["ipv4only.arpa"] = []netip.Addr{netip.MustParseAddr(translating + "192.0.0.170")}
	i.here, i.outside = newNamespace(t), newNamespace(t)
	i.ip(i.here, "link", "add", "inner", "type", "veth", "peer", "name", "outer", "netns", place(i.outside))
	i.ip(i.here, "address", "add", hereAddress+"/24", "dev", "inner")
	i.ip(i.outside, "address", "add", resolver+"/24", "dev", "outer")
	i.ip(i.here, "address", "add", hereAddress6+"/64", "dev", "inner", "nodad")
	i.ip(i.outside, "address", "add", resolver6+"/64", "dev", "outer", "nodad")
	for _, address := range append([]string{publicAddress, publicAddress6, secondAddress}, inside...) {
		i.ip(i.outside, "address", "add", address+length(address), "dev", "lo", "nodad")
	}
	for network, link := range map[*os.File]string{i.here: "inner", i.outside: "outer"} {
		i.ip(network, "link", "set", link, "addrgenmode", "none") // a new address is not one to listen at for a second
		i.ip(network, "link", "set", "lo", "up")
		i.ip(network, "link", "set", link, "up")
	}
	i.ip(i.here, "route", "add", "default", "via", resolver)
	i.ip(i.here, "-6", "route", "add", "default", "via", resolver6)
	i.name("api.example.org", publicAddress)
	i.name("other.example.org", secondAddress)
	i.serveNames()
	i.serveTLS()
	i.servePlain()
	i.resolv = filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(i.resolv, []byte("nameserver "+resolver+"\nsearch internal.example\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return i
}

// newNamespace makes a network namespace, which ends with the test.
func newNamespace(t *testing.T) *os.File {
	t.Helper()
	var network *os.File
	err := onThread(func() (err error) {
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			network, err = os.Open("/proc/thread-self/ns/net")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { network.Close() })
	return network
}

// onThread calls do on a thread of its own, which ends.
func onThread(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- do()
	}()
	return <-done
}

// place is a path of a network namespace for other processes.
func place(network *os.File) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), network.Fd()) }

func (i *internet) ip(network *os.File, args ...string) {
	i.t.Helper()
	words := append([]string{"--net=" + place(network), "ip"}, args...)
	if out, err := exec.Command("nsenter", words...).CombinedOutput(); err != nil {
		i.t.Fatalf("ip %q: %v\n%s", args, err, out)
	}
}

// listen listens outside.
func (i *internet) listen(address string) (l net.Listener) {
	i.t.Helper()
	err := onThread(func() (err error) {
		if err = unix.Setns(int(i.outside.Fd()), unix.CLONE_NEWNET); err == nil {
			l, err = net.Listen("tcp", address)
		}
		return err
	})
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() { l.Close() })
	return l
}

// name gives a name addresses, from the next query on.
func (i *internet) name(name string, addresses ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.names[name] = nil
	for _, a := range addresses {
		i.names[name] = append(i.names[name], netip.MustParseAddr(a))
	}
}

func (i *internet) serveNames() {
	var packets net.PacketConn
	err := onThread(func() (err error) {
		if err = unix.Setns(int(i.outside.Fd()), unix.CLONE_NEWNET); err == nil {
			packets, err = net.ListenPacket("udp", resolver+":53")
		}
		return err
	})
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() { packets.Close() })
	go func() {
		query := make([]byte, 4096)
		for {
			n, from, err := packets.ReadFrom(query)
			if err != nil {
				return
			}
			if answer, err := i.resolve(query[:n]); err == nil {
				_, _ = packets.WriteTo(answer, from)
			}
		}
	}()
}

func (i *internet) resolve(query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil, fmt.Errorf("no question: %w", err)
	}
	q := m.Questions[0]
	i.mu.Lock()
	defer i.mu.Unlock()
	name := strings.TrimSuffix(q.Name.String(), ".")
	i.asked = append(i.asked, name)
	addresses, known := i.names[name]
	m.Response, m.Authoritative = true, true
	m.Additionals = nil
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addresses {
		if body := resource(a, q.Type); body != nil {
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: body})
		}
	}
	return m.Pack()
}

func resource(a netip.Addr, kind dnsmessage.Type) dnsmessage.ResourceBody {
	switch {
	case a.Is4() && kind == dnsmessage.TypeA:
		return &dnsmessage.AResource{A: a.As4()}
	case a.Is6() && kind == dnsmessage.TypeAAAA:
		return &dnsmessage.AAAAResource{AAAA: a.As16()}
	}
	return nil
}

// ServeHTTP answers "NAME: PATH", /large with as many bytes as the query says, /endless with bytes without an end, /take with how many it
// got, and /files/ with a directory's.
func (i *internet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.open.Add(1)
	defer i.open.Add(-1)
	i.mu.Lock()
	i.seen = append(i.seen, strings.TrimSpace(r.Method+" "+r.Host+" "+r.URL.Path+" "+r.Header.Get("Authorization")))
	i.mu.Unlock()
	switch r.URL.Path {
	case "/large":
		size, _ := strconv.ParseInt(r.URL.RawQuery, 10, 64)
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		_, _ = io.CopyN(w, nulls{}, size)
	case "/endless":
		_, _ = io.Copy(countedTo{w, &i.sent}, nulls{})
	case "/take":
		n, _ := io.Copy(countedTo{io.Discard, &i.received}, r.Body)
		fmt.Fprintln(w, n)
	default:
		if strings.HasPrefix(r.URL.Path, "/files/") {
			http.StripPrefix("/files/", http.FileServer(http.Dir(i.files))).ServeHTTP(w, r)
			return
		}
		fmt.Fprintf(w, "%s: %s\n", r.Host, r.URL.Path)
	}
}

// countedTo counts what is written.
type countedTo struct {
	io.Writer
	bytes *atomic.Int64
}

func (c countedTo) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}

type nulls struct{}

func (nulls) Read(p []byte) (int, error) { return len(p), nil }

func (i *internet) serveTLS() {
	pair, err := tls.LoadX509KeyPair(i.authority.Certificate(i.t, func(c *x509.Certificate) {
		c.DNSNames = []string{"api.example.org", "other.example.org", "*.example.org"}
	}))
	if err != nil {
		i.t.Fatal(err)
	}
	i.serve(tls.NewListener(i.listen(":443"), &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}))
}

func (i *internet) servePlain() { i.serve(i.listen(":80")) }

func (i *internet) serve(l net.Listener) {
	server := &http.Server{Handler: i}
	go func() { _ = server.Serve(l) }()
	i.t.Cleanup(func() { server.Close() })
}

// join makes a command run in the network of scidex-oci, with its names and the one authority that it trusts.
func (i *internet) join(cmd *exec.Cmd) *exec.Cmd {
	i.t.Helper()
	user := ""
	if a := cmd.SysProcAttr; a != nil && a.Credential != nil {
		user = strconv.Itoa(int(a.Credential.Uid))
		cmd.SysProcAttr = nil
	}
	shell, err := exec.LookPath("nsenter")
	if err != nil {
		i.t.Fatal(err)
	}
	const enter = `mount --bind "$1" /etc/resolv.conf; mount -t tmpfs none /etc/ssl/certs; cp "$2" /etc/ssl/certs/ca-certificates.crt
mkdir /etc/ssl/certs/below; mount -t tmpfs none /etc/ssl/certs/below
chmod 644 /etc/ssl/certs/ca-certificates.crt; user=$3; shift 3
[ -z "$user" ] || exec setpriv --reuid "$user" --regid "$user" --clear-groups -- "$@"
exec "$@"`
	words := append([]string{shell, "--net=" + place(i.here), "unshare", "--mount", "sh", "-ec", enter, "sh", i.resolv, i.authority.File, user}, cmd.Path)
	cmd.Args = append(words, cmd.Args[1:]...)
	cmd.Path = shell
	return cmd
}

// requests are what servers have seen so far, from now on none.
func (i *internet) requests() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	defer func() { i.seen = nil }()
	return strings.Join(i.seen, "\n")
}
