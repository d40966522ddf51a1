package registry

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/scidex-ai/scidex-oci/rootfs/registry/registrytest"
)

// TestCertificatesOfAHost: a registry with an authority of its own requires a certificate of the client.
func TestCertificatesOfAHost(t *testing.T) {
	server := registrytest.Start(t, authority)
	server.Push(t, registrytest.Image(t, 1000), "image:1")
	own := registrytest.NewAuthority(t)
	proxy := registrytest.NewProxyWith(t, server, own, own)
	ref, dirs := proxy.Address+"/image:1", []string{"/none", t.TempDir(), t.TempDir()}
	o := options()
	o.CertDirs = dirs

	_, err := pull(t, ref, empty(t), o)
	expectRefusal(t, err, "not trusted", "/none/"+proxy.Address+"/ca.crt", "SSL_CERT_FILE")

	of := filepath.Join(dirs[2], proxy.Address)
	must(t, os.Mkdir(of, 0o755), os.Symlink(own.File, of+"/ca.crt"), os.WriteFile(of+"/README", nil, 0o644))
	_, err = pull(t, ref, empty(t), o)
	expectRefusal(t, err, proxy.Address+" does not take this client's certificate, or wants one", "client.cert")
	if seen := len(proxy.Seen("")); seen > 0 {
		t.Errorf("%d requests without a certificate", seen)
	}

	own.Sign(t, of+"/client.cert", of+"/client.key")
	_, err = pull(t, ref, empty(t), o)
	must(t, err)
	home := t.TempDir() // skopeo takes the same directory
	must(t, os.MkdirAll(home+"/.config/containers", 0o755), os.Symlink(dirs[2], home+"/.config/containers/certs.d"))
	t.Setenv("HOME", home)
	registrytest.Run(t, "skopeo", "inspect", "--creds", registrytest.User+":"+registrytest.Password, "docker://"+ref)

	registrytest.NewAuthority(t).Sign(t, of+"/client.cert", of+"/client.key")
	_, err = pull(t, ref, empty(t), o)
	expectRefusal(t, err, "does not take this client's certificate")
	own.Sign(t, of+"/client.cert", of+"/client.key")

	// The first directory that has the host counts, even an empty one.
	must(t, os.Mkdir(filepath.Join(dirs[1], proxy.Address), 0o755))
	_, err = pull(t, ref, empty(t), o)
	expectRefusal(t, err, "not trusted")
}

// TestCertificatesStayWithTheirHost: if a registry redirects to another host, that host's certificates count.
func TestCertificatesStayWithTheirHost(t *testing.T) {
	server := registrytest.Start(t, authority)
	server.Push(t, registrytest.Image(t, 1000), "image:1")
	first, second := registrytest.NewAuthority(t), registrytest.NewAuthority(t)
	from := registrytest.NewProxyWith(t, server, first, first)
	to := registrytest.NewProxyWith(t, server, second, second)
	from.Fail(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.Contains(r.URL.Path, "/blobs/") && r.Header.Get("Authorization") != "" {
			http.Redirect(w, r, "https://"+to.Address+r.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		next.ServeHTTP(w, r)
	})
	to.Fail(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s was told the password", r.URL)
		}
		r.SetBasicAuth(registrytest.User, registrytest.Password)
		next.ServeHTTP(w, r)
	})
	o := options()
	o.CertDirs = []string{t.TempDir()}
	trust := func(host string, authority, client *registrytest.Authority) {
		of := filepath.Join(o.CertDirs[0], host)
		must(t, os.MkdirAll(of, 0o755), os.RemoveAll(of+"/ca.crt"), os.Symlink(authority.File, of+"/ca.crt"))
		client.Sign(t, of+"/client.cert", of+"/client.key")
	}
	trust(from.Address, first, first)
	_, err := pull(t, from.Address+"/image:1", empty(t), o)
	expectRefusal(t, err, "not trusted", to.Address+"/ca.crt") // the first host's authority says nothing about the second
	trust(to.Address, second, first)
	_, err = pull(t, from.Address+"/image:1", empty(t), o)
	expectRefusal(t, err, to.Address+" does not take this client's certificate")
	trust(to.Address, second, second)
	_, err = pull(t, from.Address+"/image:1", empty(t), o)
	must(t, err)
	if len(to.Seen("/blobs/")) == 0 {
		t.Error("the other host was not asked")
	}
}

func TestCertDirs(t *testing.T) {
	for want, env := range map[string]map[string]string{
		"/x/containers/certs.d":         {"XDG_CONFIG_HOME": "/x", "HOME": "/h"},
		"/h/.config/containers/certs.d": {"XDG_CONFIG_HOME": "relative", "HOME": "/h"},
		"/etc/containers/certs.d":       {},
	} {
		got := CertDirs(func(name string) string { return env[name] })
		if got[0] != want || !slices.Equal(got[len(got)-2:], []string{"/etc/containers/certs.d", "/etc/docker/certs.d"}) {
			t.Errorf("%v: %q", env, got)
		}
	}
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/docker.io", 0o755), os.WriteFile(dir+"/a.crt", []byte("x"), 0o644))
	_, err := certDir([]string{dir + "/a.crt"}, "docker.io")
	expectRefusal(t, err, "certificates of docker.io", dir+"/a.crt")
	for host, want := range map[string]string{
		"registry-1.docker.io": dir + "/docker.io", "docker.io": dir + "/docker.io", "docker.io:443": "",
		"..": "", ".": "", "": "", "../docker.io": "", "docker.io/": "", "x\x00": "",
	} {
		if got, err := certDir([]string{"/none", dir}, host); got != want || err != nil {
			t.Errorf("%q: %q, %v", host, got, err)
		}
	}
}

// TestBadCertificates: each file that cannot be used is named, and nothing waits for it.
func TestBadCertificates(t *testing.T) {
	own := registrytest.NewAuthority(t)
	pair := func(dir, name string) { own.Sign(t, filepath.Join(dir, name+".cert"), filepath.Join(dir, name+".key")) }
	write := func(name string, data string, mode os.FileMode) func(string) {
		return func(dir string) {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(data), mode), os.Chmod(filepath.Join(dir, name), mode))
		}
	}
	ca, err := os.ReadFile(own.File)
	must(t, err)
	for name, c := range map[string]struct {
		make  func(dir string)
		words []string
	}{
		"huge":         {write("a.crt", strings.Repeat("x", maxSmall+1), 0o644), []string{"/a.crt", "more than"}},
		"no PEM":       {write("a.crt", "x", 0o644), []string{"/a.crt", "no certificate in PEM"}},
		"empty":        {write("a.crt", "", 0o644), []string{"/a.crt", "no certificate in PEM"}},
		"by anyone":    {write("a.crt", string(ca), 0o666), []string{"/a.crt", "chmod o-w '/"}},
		"directory":    {func(dir string) { must(t, os.Mkdir(dir+"/a.crt", 0o755)) }, []string{"/a.crt", "no regular file"}},
		"FIFO":         {func(dir string) { must(t, syscall.Mkfifo(dir+"/a.crt", 0o644)) }, []string{"/a.crt", "no regular file"}},
		"device":       {func(dir string) { must(t, os.Symlink("/dev/zero", dir+"/a.crt")) }, []string{"/a.crt", "no regular file"}},
		"link to none": {func(dir string) { must(t, os.Symlink("none", dir+"/a.crt")) }, []string{"/a.crt", "no such file"}},
		"link to self": {func(dir string) { must(t, os.Symlink("a.crt", dir+"/a.crt")) }, []string{"/a.crt", "too many levels"}},
		"no key":       {write("a.cert", string(ca), 0o644), []string{"/a.cert", "no key", "*.crt"}},
		"no cert":      {write("a.key", "x", 0o600), []string{"/a.key", "no certificate"}},
		"read by all":  {func(dir string) { pair(dir, "a"); must(t, os.Chmod(dir+"/a.key", 0o644)) }, []string{"/a.key", "0644", "chmod o= '/"}},
		"others' keys": {func(dir string) {
			pair(dir, "a")
			pair(dir, "b")
			must(t, os.Rename(dir+"/b.key", dir+"/a.key"), os.Remove(dir+"/b.cert"))
		}, []string{"/a.cert", "/a.key"}},
		"key is no key": {func(dir string) { pair(dir, "a"); write("a.key", "x", 0o600)(dir) }, []string{"/a.cert", "/a.key"}},
		"many": {func(dir string) {
			for i := range maxCertFiles + 1 {
				write(fmt.Sprint(i), "", 0o644)(dir)
			}
		}, []string{"more than 256 files"}},
	} {
		dir := t.TempDir() + "/of mine"
		must(t, os.MkdirAll(dir+"/host.example", 0o755))
		c.make(dir + "/host.example")
		_, err := hostTLS([]string{dir}, "host.example")
		expectRefusal(t, err, append(c.words, dir, "host.example")...)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q", name, err)
		}
		if _, err := Pull(t.Context(), mustParse(t, "host.example/image:1"), empty(t), Options{CertDirs: []string{dir}}); err == nil || !strings.Contains(err.Error(), c.words[0]) {
			t.Errorf("%s: a pull: %v", name, err)
		}
	}
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/host.example", nil, 0o644))
	_, err = hostTLS([]string{dir}, "host.example")
	expectRefusal(t, err, dir+"/host.example")
	must(t, os.Remove(dir+"/host.example"), os.Mkdir(dir+"/host.example", 0o755))
	pair(dir+"/host.example", "a")
	must(t, os.Chmod(dir+"/host.example/a.key", 0o640)) // a group may share a key
	config, err := hostTLS([]string{dir}, "host.example")
	must(t, err)
	if len(config.Certificates) != 1 || config.RootCAs != nil {
		t.Errorf("%d certificates, authorities %v", len(config.Certificates), config.RootCAs)
	}
	write("a.crt", string(ca), 0o644)(dir + "/host.example")
	config, err = hostTLS([]string{dir}, "host.example")
	must(t, err)
	system, err := x509.SystemCertPool()
	must(t, err)
	if system.AppendCertsFromPEM(ca); !config.RootCAs.Equal(system) {
		t.Error("the authorities are not the system's and one more")
	}
}
