package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/rootfs/registry/registrytest"
)

// TestDockerPull: an engine pulls an image from a registry, finds it, and runs it by tag and by digest.
func TestDockerPull(t *testing.T) {
	s := newRegistrySite(t)
	layout := s.layout(s.tree("tree", alpine(nil)), imageConfig{Entrypoint: []string{"/bin/busybox", "echo"}, Cmd: []string{"default"}})
	registrytest.Run(t, "skopeo", "--insecure-policy", "copy", "--dest-cert-dir", s.server.Authority.Dir, "--dest-creds", registrytest.User+":"+registrytest.Password,
		"oci:"+layout, "docker://"+s.server.Address+"/tool:1")
	tag := s.Address + "/tool:1"

	refused := s.docker("run", "--rm", tag, "words")
	if refused.code != 125 {
		t.Errorf("not pulled: %+v", refused)
	}
	checkSentence(t, refused.stderr, `no image "`+tag+`"`, "scidex-oci image pull")
	if out := s.docker("pull", tag); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	sum := s.imageID(t, "inspect", tag)
	if out := s.docker("images", "--no-trunc", "--all"); !strings.Contains(out.stdout, "\n"+s.Address+"/tool 1 "+sum+"\n") {
		t.Errorf("%+v", out)
	}
	for _, name := range []string{tag, s.Address + "/tool@" + sum} {
		if out := s.docker("pull", name); out.code != 0 {
			t.Fatalf("%s: %+v", name, out)
		}
		if got := s.imageID(t, "image", "inspect", name); got != sum {
			t.Errorf("%s is %s, not %s", name, got, sum)
		}
		for line, want := range map[string]string{"": "default\n", "some words": "some words\n"} {
			args := append([]string{"run", "--rm", "--name=" + s.newName(), name}, strings.Fields(line)...)
			if out := s.docker(args...); out.code != 0 || out.stdout != want {
				t.Errorf("%s %s: %+v", name, line, out)
			}
		}
		s.Fail(nil) // forgets earlier requests
		if out := s.docker("pull", name); out.code != 0 || len(s.Seen("")) > 0 {
			t.Errorf("%s is pulled twice: %+v", name, out)
		}
	}
}

// imageID is the digest that docker inspect gives.
func (s *registrySite) imageID(t *testing.T, line ...string) string {
	t.Helper()
	out := s.docker(line...)
	var all []struct{ ID string }
	if err := json.Unmarshal([]byte(out.stdout), &all); err != nil || len(all) != 1 || !strings.HasPrefix(all[0].ID, "sha256:") {
		t.Fatalf("%q: %v: %+v", line, err, out)
	}
	return all[0].ID
}

// newName is newID, whose name a site has for something else.
func (s *registrySite) newName() string { return s.harness.newID() }

// TestDockerPullRefused: the error of a registry that does not answer, or lacks the image, is one sentence.
func TestDockerPullRefused(t *testing.T) {
	s := newRegistrySite(t)
	for name, word := range map[string]string{
		"127.0.0.1:1/tool:1":  "127.0.0.1:1",
		s.Address + "/none:1": "no such image",
		"tool:1":              "names no registry",
		"-tool":               "no flag",
		"engine/tool:":        "is no name of an image",
	} {
		out := s.docker("pull", name)
		if out.code != 125 {
			t.Errorf("%s: %+v", name, out)
		}
		checkSentence(t, out.stderr, word)
	}
	for _, verb := range []string{"inspect", "run"} {
		out := s.docker(verb, "none:1")
		if out.code != 125 {
			t.Errorf("%s: %+v", verb, out)
		}
		checkSentence(t, out.stderr, `no image "none:1"`)
	}
	s.expectNothing(t)
}
