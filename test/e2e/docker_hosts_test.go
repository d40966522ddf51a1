package e2e

import (
	"strings"
	"testing"
)

// TestDockerHosts: SCIDEX_OCI_DOCKER_HOSTS names hosts for steps whose engine does not pass --network none.
func TestDockerHosts(t *testing.T) {
	for kind, s := range surfers(t) {
		t.Run(kind, func(t *testing.T) {
			h := s.h.in(t)
			config := s.permit("allow_hosts: [api.example.org, other.example.org]\n" + strings.TrimSpace(toolMap))
			ask := func(hosts string, flags ...string) (outcome, string) {
				line := append([]string{"--config", config, "docker", "run", "--rm", "--name=" + h.newID()}, flags...)
				cmd := s.command(append(line, tool, "sh", "-c", "curl -sSf http://api.example.org/one; curl -sSf http://other.example.org/two")...)
				cmd.Env = append(cmd.Env, "SCIDEX_OCI_LIMITS=best-effort")
				if hosts != "-" {
					cmd.Env = append(cmd.Env, "SCIDEX_OCI_DOCKER_HOSTS="+hosts)
				}
				s.requests()
				return h.finish(cmd), s.requests()
			}
			for hosts, want := range map[string]string{
				"api.example.org":                      "GET api.example.org /one",
				" other.example.org  api.example.org ": "GET api.example.org /one\nGET other.example.org /two",
				"":                                     "", "  ": "", "-": "",
			} {
				if out, seen := ask(hosts); seen != want || (out.code == 0) != strings.Contains(want, "/two") {
					t.Errorf("%q: servers saw %q, not %q: %+v", hosts, seen, want, out)
				}
			}
			for _, flag := range []string{"--network=none", "--net=none"} {
				if out, seen := ask("api.example.org other.example.org", flag); out.code == 0 || out.code == 125 || seen != "" {
					t.Errorf("%s: servers saw %q: %+v", flag, seen, out)
				}
			}
			out, seen := ask("api.example.org third.example.org")
			if out.code != 125 || seen != "" {
				t.Errorf("servers saw %q: %+v", seen, out)
			}
			checkSentence(t, out.stderr, "third.example.org", config)
		})
	}
}
