package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/scidex-ai/scidex-oci/rootfs/registry/registrytest"
)

// registrySite is a registry with the image "image:1", a proxy before it, and a harness whose user has accounts for both.
type registrySite struct {
	*harness
	*registrytest.Proxy
	server *registrytest.Server
	ref    string // of the image, through the proxy
	big    string // the digest of its large layer
	size   int    // of that layer in bytes
	digest string // of its manifest
}

func newRegistrySite(t *testing.T) *registrySite {
	t.Helper()
	const size = 4 << 20
	s := &registrySite{harness: newHarness(t)}
	authority := registrytest.NewAuthority(t)
	s.server = registrytest.Start(t, authority)
	layout := registrytest.Image(t, size, 1000)
	s.server.Push(t, layout, "image:1")
	s.Proxy = registrytest.NewProxy(t, s.server)
	s.ref, s.digest = s.Address+"/image:1", registrytest.Manifest(t, layout)
	s.big, s.size = largest(t, layout)
	s.setenv("SSL_CERT_FILE", authority.File)
	s.login(t, s.Address, registrytest.Password)
	return s
}

// login is what "docker login" leaves.
func (s *registrySite) login(t *testing.T, registry, password string) {
	t.Helper()
	account := base64.StdEncoding.EncodeToString([]byte(registrytest.User + ":" + password))
	text := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, registry, account)
	s.write("docker/config.json", text, 0o600)
	s.setenv("DOCKER_CONFIG", s.path("docker"))
}

// largest is the largest blob of a layout.
func largest(t *testing.T, layout string) (digest string, size int) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(layout, "blobs/sha256"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && int(info.Size()) > size {
			digest, size = "sha256:"+e.Name(), int(info.Size())
		}
	}
	return digest, size
}

// pulled is the last line of image pull --json.
type pulled struct{ Type, Name, Reference, Digest string }

func parsePulled(t *testing.T, out outcome) (p pulled) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out.stdout), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &p); err != nil {
		t.Fatalf("%v in %s", err, out.stdout)
	}
	return p
}

// expectPulled demands that a pull gives the image, and that it is listed.
func (s *registrySite) expectPulled(t *testing.T, args ...string) outcome {
	t.Helper()
	out := s.mustRun(append([]string{"image", "pull", s.ref, "--name", "pulled", "--json"}, args...)...)
	want := pulled{Type: "image", Name: "pulled", Reference: s.ref + "@" + s.digest, Digest: s.digest}
	if got := parsePulled(t, out); got != want {
		t.Errorf("pulled %+v, want %+v", got, want)
	}
	if ls := s.mustRun("image", "ls"); !strings.Contains(ls.stdout, "pulled") {
		t.Errorf("not listed: %s", ls.stdout)
	}
	return out
}

// expectNothing demands that no image is listed.
func (s *registrySite) expectNothing(t *testing.T) {
	t.Helper()
	if ls := s.mustRun("image", "ls", "--json"); strings.TrimSpace(ls.stdout) != "" {
		t.Errorf("listed: %s", ls.stdout)
	}
}

// fresh forgets all images.
func (s *registrySite) newID(t *testing.T) {
	t.Helper()
	_, err := os.Stat(s.root)
	if err == nil {
		err = exec.Command("chmod", "-R", "u+rwX", s.root).Run()
	}
	if err == nil {
		err = os.RemoveAll(s.root)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// TestRegistry drives "image pull" against Debian's docker-registry.
func TestRegistry(t *testing.T) {
	s := newRegistrySite(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *registrySite)
	}{
		{"refusals", registryRefuses},
		{"pinned", registryPinned},
		{"at once", registryAtOnce},
		{"broken", registryBroken},
		{"killed", registryKilled},
		{"interrupted", registryInterrupted},
		{"wrong contents", registryWrongContents},
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

func registryRefuses(t *testing.T, s *registrySite) {
	for _, c := range []struct {
		ref   string
		env   string
		words []string
	}{
		{"Image:", "", []string{"no reference of an image"}},
		{s.Address + "/none:1", "", []string{"no such image"}},
		{s.ref, "DOCKER_CONFIG=/none", []string{"docker login " + s.Address}},
		{s.ref, "REGISTRY_AUTH_FILE=/none", []string{"REGISTRY_AUTH_FILE"}},
		{s.ref, "SSL_CERT_FILE=/dev/null", []string{"not trusted", "SSL_CERT_FILE"}},
		{s.Address + "/image@sha256:" + strings.Repeat("0", 64), "", []string{"no such image"}},
		{s.Address + "/image@sha512:" + strings.Repeat("0", 128), "", []string{"sha256"}},
	} {
		cmd := s.command(theHost.bin, "image", "pull", c.ref, "--name", "refused")
		cmd.Env = append(cmd.Env, c.env)
		out := s.finish(cmd)
		if out.code != 125 {
			t.Errorf("%s %s: exit code %d", c.env, c.ref, out.code)
		}
		checkSentence(t, out.stderr, c.words...)
	}
	s.expectNothing(t)
}

func registryPinned(t *testing.T, s *registrySite) {
	for _, ref := range []string{s.Address + "/image@" + s.digest, s.Address + "/image:gone@" + s.digest} {
		got := parsePulled(t, s.mustRun("image", "pull", ref, "--name", "pinned", "--json"))
		if got.Digest != s.digest || got.Reference != ref {
			t.Errorf("%s: %+v", ref, got)
		}
	}
}

// registryAtOnce pulls one image by several processes: each blob is sent once.
func registryAtOnce(t *testing.T, s *registrySite) {
	var cmds []*exec.Cmd
	for range 6 {
		cmd := s.command(theHost.bin, "image", "pull", s.ref, "--name", "pulled")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if asked := len(s.Seen(s.big)); asked != 1 {
		t.Errorf("the large layer was asked for %d times", asked)
	}
	s.expectPulled(t)
}

// half sends half of the large layer at the first request for it, and then calls end.
func (s *registrySite) half(end func(*http.Request)) registrytest.Fault {
	first := make(chan struct{}, 1)
	first <- struct{}{}
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !strings.Contains(r.URL.Path, s.big) {
			next.ServeHTTP(w, r)
			return
		}
		select {
		case <-first:
		default:
			next.ServeHTTP(w, r)
			return
		}
		answer := registrytest.Record(next, r)
		w.Header().Set("Content-Length", fmt.Sprint(s.size))
		w.Header().Set("Accept-Ranges", "bytes")
		_, _ = w.Write(answer.Body.Bytes()[:s.size/2])
		_ = http.NewResponseController(w).Flush()
		end(r)
		panic(http.ErrAbortHandler)
	}
}

// expectRange checks that the last request for the large layer was for the missing part.
func (s *registrySite) expectRange(t *testing.T) {
	t.Helper()
	seen := s.Seen(s.big)
	if len(seen) == 0 {
		t.Error("the large layer was not asked for")
		return
	}
	var from, to int
	asked := seen[len(seen)-1].Header.Get("Range")
	if _, err := fmt.Sscanf(asked, "bytes=%d-%d", &from, &to); err != nil || from == 0 || from > s.size/2 {
		t.Errorf("asked for %q of %d bytes", asked, s.size)
	}
}

func registryBroken(t *testing.T, s *registrySite) {
	s.Fail(s.half(func(*http.Request) {}))
	out := s.expectPulled(t)
	s.expectRange(t)
	if !strings.Contains(out.stderr, "goes on") {
		t.Errorf("the user was not told: %q", out.stderr)
	}
}

// pullUntilHalf starts a pull, which hangs when it has half of the large layer.
func (s *registrySite) pullUntilHalf(t *testing.T) *exec.Cmd {
	t.Helper()
	s.Fail(s.half(func(r *http.Request) { <-r.Context().Done() }))
	cmd := s.command(theHost.bin, "image", "pull", s.ref, "--name", "pulled")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	partial := filepath.Join(s.root, "images/ingest", strings.TrimPrefix(s.big, "sha256:"), "partial")
	missing := eventually(func() []string {
		if info, err := os.Stat(partial); err == nil && info.Size() >= int64(s.size/2) {
			return nil
		}
		return []string{partial}
	})
	if len(missing) > 0 {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatal("half of the layer did not arrive")
	}
	return cmd
}

func registryKilled(t *testing.T, s *registrySite) {
	cmd := s.pullUntilHalf(t)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	s.expectNothing(t)
	s.Fail(nil)
	s.expectPulled(t)
	s.expectRange(t)
}

func registryInterrupted(t *testing.T, s *registrySite) {
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		s.newID(t)
		cmd := s.pullUntilHalf(t)
		_ = cmd.Process.Signal(signal)
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("%v: exit code %d, want %d", signal, got, code)
		}
		s.expectNothing(t)
		s.Fail(nil)
		s.expectPulled(t)
		s.expectRange(t)
	}
}

func registryWrongContents(t *testing.T, s *registrySite) {
	s.Fail(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !strings.Contains(r.URL.Path, s.big) {
			next.ServeHTTP(w, r)
			return
		}
		answer := registrytest.Record(next, r)
		body := answer.Body.Bytes()
		body[len(body)/2] ^= 1
		registrytest.Send(w, answer, body)
	})
	s.mustRefuse([]string{"image", "pull", s.ref, "--name", "pulled"}, s.big, "not what")
	s.expectNothing(t)
	s.Fail(nil)
	s.expectPulled(t)
}
