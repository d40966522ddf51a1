package registrytest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The account of every registry with authentication, and its line in the registry's password file (bcrypt).
const (
	User     = "analyst"
	Password = "secret-of-the-test"
	htpasswd = "analyst:$2y$04$wgvkaoOTZo1E3RksRbsGkuSgR4mzubiltkIChFIvh37/OPjiTHmBG\n"
)

// Server is a running docker-registry.
type Server struct {
	Address   string // host:port on loopback
	Authority *Authority
	plain     bool
	realm     string // of its tokens
}

// Option configures a Server.
type Option func(*Server)

// Plain disables TLS and authentication.
func Plain(s *Server) { s.plain = true }

// Tokens requires tokens from a server at this URL (TokenServer) instead of a password.
func Tokens(realm string) Option { return func(s *Server) { s.realm = realm } }

// Start runs a registry until the end of the test: with TLS and a password, unless an option changes that.
func Start(t testing.TB, authority *Authority, options ...Option) *Server {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Fatalf("%v; scripts/setup test installs it", err)
	}
	s := &Server{Authority: authority}
	for _, option := range options {
		option(s)
	}
	cmd := exec.Command(program, "serve", s.configure(t))
	cmd.Env = []string{"OTEL_TRACES_EXPORTER=none"}
	logs, err := cmd.StderrPipe()
	try(t, err)
	cmd.Stdout = cmd.Stderr
	try(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.Address = listening(t, bufio.NewScanner(logs))
	return s
}

var address = regexp.MustCompile(`listening on (127\.0\.0\.1:[0-9]+)`)

// listening reads the port that the kernel has chosen from the log, and reads on so that no pipe fills up.
func listening(t testing.TB, logs *bufio.Scanner) string {
	t.Helper()
	var said []string
	for logs.Scan() {
		if found := address.FindStringSubmatch(logs.Text()); found != nil {
			go func() {
				for logs.Scan() {
				}
			}()
			return found[1]
		}
		said = append(said, logs.Text())
	}
	t.Fatalf("docker-registry did not start: %s", strings.Join(said, "\n"))
	return ""
}

func (s *Server) configure(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf("version: 0.1\nlog: {level: info, accesslog: {disabled: true}}\nstorage: {filesystem: {rootdirectory: %s}}\n"+
		"http:\n  addr: 127.0.0.1:0\n  secret: x\n", filepath.Join(dir, "storage"))
	if !s.plain {
		cert, key := s.Authority.Certificate(t)
		config += fmt.Sprintf("  tls: {certificate: %s, key: %s}\n", cert, key)
	}
	switch {
	case s.realm != "":
		config += fmt.Sprintf("auth: {token: {realm: %q, service: %s, issuer: %s, rootcertbundle: %s}}\n",
			s.realm, tokenService, tokenIssuer, s.Authority.File)
	case !s.plain:
		try(t, os.WriteFile(filepath.Join(dir, "htpasswd"), []byte(htpasswd), 0o600))
		config += fmt.Sprintf("auth: {htpasswd: {realm: test, path: %s}}\n", filepath.Join(dir, "htpasswd"))
	}
	path := filepath.Join(dir, "config.yml")
	try(t, os.WriteFile(path, []byte(config), 0o600))
	return path
}

// Port is the address's port.
func (s *Server) Port() string {
	_, port, _ := net.SplitHostPort(s.Address)
	return port
}
