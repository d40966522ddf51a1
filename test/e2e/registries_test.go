package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/rootfs/registry/registrytest"
)

// newConfiguredSite is a site whose registry requires a client certificate and is configured only by files, as podman's
// users and operators have them.
func newConfiguredSite(t *testing.T) *registrySite {
	t.Helper()
	s := newRegistrySite(t)
	own := registrytest.NewAuthority(t)
	s.Proxy = registrytest.NewProxyWith(t, s.server, own, own)
	s.ref = s.Address + "/image:1"
	s.setenv("DOCKER_CONFIG", "/none")
	s.setenv("SSL_CERT_FILE", "/dev/null")
	s.setenv("XDG_CONFIG_HOME", s.path("config"))
	s.setenv("XDG_RUNTIME_DIR", s.path("run"))
	s.trust(t, s.Address, own)
	own.Sign(t, s.certs(s.Address, "client.cert"), s.certs(s.Address, "client.key"))
	s.account("run/containers/auth.json", s.Address+"/image", registrytest.Password)
	return s
}

func (s *registrySite) certs(host, name string) string {
	return filepath.Join(s.path("config"), "containers/certs.d", host, name)
}

// trust names the authority of a host.
func (s *registrySite) trust(t *testing.T, host string, authority *registrytest.Authority) {
	t.Helper()
	data, err := os.ReadFile(authority.File)
	if err != nil {
		t.Fatal(err)
	}
	s.write("config/containers/certs.d/"+host+"/ca.crt", string(data), 0o644)
}

// account writes a file of credentials with one entry.
func (s *registrySite) account(name, key, password string) {
	account := base64.StdEncoding.EncodeToString([]byte(registrytest.User + ":" + password))
	s.write(name, fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, key, account), 0o600)
}

// TestRegistriesConfigured tests what docs/registries.md says about certificates, mirrors, credentials and short names.
func TestRegistriesConfigured(t *testing.T) {
	s := newConfiguredSite(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *registrySite)
	}{
		{"certificates", configuredCertificates},
		{"credentials", configuredCredentials},
		{"short names", configuredShortNames},
		{"mirrors", configuredMirrors},
	} {
		s.Fail(nil)
		s.newID(t)
		t.Run(c.name, func(t *testing.T) {
			same := *s
			same.harness = s.in(t)
			c.test(t, &same)
		})
	}
}

func configuredCertificates(t *testing.T, s *registrySite) {
	s.expectPulled(t)
	for _, r := range s.Seen("") {
		if len(r.TLS.PeerCertificates) == 0 {
			t.Errorf("%s came without a certificate", r.URL)
		}
	}
	pull := []string{"image", "pull", s.ref, "--name", "refused"}
	refused := func(change func(path string) error, name string, words ...string) {
		t.Helper()
		path := s.certs(s.Address, name)
		whole, err := os.ReadFile(path)
		if err == nil {
			err = change(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		s.Fail(nil)
		s.mustRefuse(pull, append(words, path)...)
		if asked := len(s.Seen("")); asked > 0 {
			t.Errorf("%s: the registry was asked %d times", name, asked)
		}
		s.write("config/containers/certs.d/"+s.Address+"/"+name, string(whole), 0o600)
	}
	cut := func(path string) error { return os.Truncate(path, 20) }
	refused(func(path string) error { return os.Chmod(path, 0o644) }, "client.key", "open to all users", "chmod o=")
	refused(os.Remove, "client.key", "has no key")
	refused(cut, "client.cert", "not a certificate in PEM and its key")
	refused(cut, "ca.crt", "no certificate in PEM")
	refused(os.Remove, "ca.crt", "not trusted")
	s.expectPulled(t)
}

func configuredCredentials(t *testing.T, s *registrySite) {
	s.account("config/containers/auth.json", s.Address, "wrong")
	s.expectPulled(t)
	s.account("run/containers/auth.json", s.Address+"/other", registrytest.Password)
	s.mustRefuse([]string{"image", "pull", s.ref, "--name", "refused"}, "podman login")
	s.account("config/containers/auth.json", s.Address, registrytest.Password)
	s.expectPulled(t)
	if !theHost.root { // to whom nothing is closed
		s.mustSucceed(os.Chmod(s.path("run/containers"), 0)) // the user cannot have logged in there
		s.expectPulled(t)
		s.mustSucceed(os.Chmod(s.path("run/containers"), 0o700), os.Chmod(s.path("run/containers/auth.json"), 0))
		s.mustRefuse([]string{"image", "pull", s.ref, "--name", "refused"}, "credential file", s.path("run/containers/auth.json"))
		s.mustSucceed(os.Chmod(s.path("run/containers/auth.json"), 0o600))
	}
	s.write("config/containers/auth.json", `{"auths":`, 0o600)
	s.mustRefuse([]string{"image", "pull", s.ref, "--name", "refused"}, "credential file", s.path("config/containers/auth.json"))
	s.account("run/containers/auth.json", s.Address+"/image", registrytest.Password)
	if err := os.Remove(s.path("config/containers/auth.json")); err != nil {
		t.Fatal(err)
	}
}

func configuredShortNames(t *testing.T, s *registrySite) {
	s.mustRefuse([]string{"image", "pull", "tool:1"}, `"tool:1" names no registry`, "write HOST/tool:1", "scidex-oci config set short_names.tool HOST/PATH")
	s.mustRefuse([]string{"config", "set", "short_names.tool", "image"}, "HOST/PATH")
	s.mustRun("config", "set", "short_names.tool", s.Address+"/image")
	got := parsePulled(t, s.mustRun("image", "pull", "tool:1", "--json"))
	if want := (pulled{"image", "tool:1", s.ref + "@" + s.digest, s.digest}); got != want {
		t.Errorf("pulled %+v, want %+v", got, want)
	}
	s.mustRun("config", "unset", "short_names.tool")
	s.mustRefuse([]string{"image", "pull", "tool:1"}, "names no registry")
}

func configuredMirrors(t *testing.T, s *registrySite) {
	other := registrytest.NewAuthority(t)
	mirror := registrytest.NewProxyWith(t, s.server, other, nil)
	s.trust(t, mirror.Address, other)
	s.mustRun("config", "set", "registries."+s.Address+".mirrors", "127.0.0.1:1/none", mirror.Address)
	if got := s.mustRun("config", "get", "registries."+s.Address+".mirrors").stdout; got != "127.0.0.1:1/none\n"+mirror.Address+"\n" {
		t.Errorf("the mirrors are %q", got)
	}
	// The mirror has an account of its own, and does not get the registry's.
	out := s.expectPulled(t)
	if strings.Count(out.stderr, "a mirror is passed over") != 2 || len(s.Seen("")) == 0 {
		t.Errorf("%d requests of the registry: %s", len(s.Seen("")), out.stderr)
	}
	for _, r := range mirror.Seen("") {
		if r.Header.Get("Authorization") != "" || len(r.TLS.PeerCertificates) > 0 {
			t.Errorf("the mirror was told who asks: %s", r.URL)
		}
	}
	account := base64.StdEncoding.EncodeToString([]byte(registrytest.User + ":" + registrytest.Password))
	s.write("run/containers/auth.json", fmt.Sprintf(`{"auths":{%q:{"auth":%q},%q:{"auth":%[2]q}}}`, s.Address+"/image", account, mirror.Address), 0o600)
	s.newID(t)
	s.Fail(nil)
	s.expectPulled(t)
	if asked := len(s.Seen("")); asked > 0 {
		t.Errorf("the registry was asked %d times beside its mirror", asked)
	}
	s.newID(t)
	mirror.Fail(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer := registrytest.Record(next, r)
		body := answer.Body.Bytes()
		if strings.Contains(r.URL.Path, s.big) && len(body) > 0 {
			body[len(body)/2] ^= 1
		}
		registrytest.Send(w, answer, body)
	})
	if out := s.expectPulled(t); !strings.Contains(out.stderr, "not what the descriptor promises") || len(s.Seen(s.big)) == 0 {
		t.Errorf("wrong bytes of a mirror: %s", out.stderr)
	}
	s.mustRun("config", "unset", "registries."+s.Address+".mirrors")
}
