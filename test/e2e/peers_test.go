package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/host/landlock"
)

// peer is the input of peers.py.
type peer struct {
	Role      string            `json:"role"`      // owner, seeker or together
	Marker    string            `json:"marker"`    // in the name of everything that is left
	Directory string            `json:"directory"` // the owner's on the host
	Places    map[string]string `json:"places"`    // files that both can read
	Leased    map[string]string `json:"leased"`    // files that a third can change
	PIDs      []int             `json:"pids"`      // of the owner on the host
	Told      json.RawMessage   `json:"told"`      // by the owner to the seeker
	End       string            `json:"end"`       // the file that the owner waits for
	Only      []string          `json:"only"`      // only means with such names
}

// readable is a file that every run can read, as every user of the host.
const readable = "/usr/lib/os-release"

// shared makes files that two runs see, and returns them by the path on the host, and as the runs see them.
func (h *harness) shared() (outside, inside map[string]string, flags []string) {
	h.t.Helper()
	data := h.write("data/shared", "shared", 0o666)
	file := h.write("file", "shared", 0o666)
	outside = map[string]string{"data": data, "an input": file, "the root": readable, "a device": "/dev/null"}
	inside = map[string]string{"data": "/data/shared", "an input": "/inputs/file", "the root": readable, "a device": "/dev/null"}
	return outside, inside, []string{"--data", filepath.Dir(data), "--input", file, "--project", testdata(h.t, "."), "--script", testdata(h.t, "peers.py")}
}

// togetherOutside runs both as plain processes in a PID namespace, where kill(-1) meets nobody else.
func togetherOutside(t *testing.T, p peer) verdicts {
	t.Helper()
	flags := []string{"--fork", "--pid", "--mount-proc", "--kill-child"}
	if !theHost.root {
		flags = append(flags, "--user", "--map-current-user")
	}
	cmd := exec.Command("unshare", append(flags, "/usr/bin/python3", "-B", testdata(t, "peers.py"), encode(t, p))...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + cmd.Dir}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("control: %v\n%s", err, stderrOf(err))
	}
	return decodeVerdicts(t, out)
}

// TestPeersDoNotMeet lets two runs look for each other by every means of two processes of a host, by which plain
// processes find each other; and nothing that a run does to its files affects the host.
func TestPeersDoNotMeet(t *testing.T) {
	h := newHarness(t)
	onHost, inside, flags := h.shared()
	end := h.flag()
	control := togetherOutside(t, peer{
		Role: "together", Marker: h.id("plain"), Directory: "/tmp/scidex-analysis-" + h.id("plain"),
		Places: onHost, Leased: leased(onHost), End: end.path,
	})
	control.each(t, func(name, got string) string {
		return unless(got == "ok", "want ok outside, or it proves nothing")
	})
	if err := os.Truncate(end.path, 0); err != nil {
		t.Fatal(err)
	}

	id := h.newID()
	p := peer{Role: "owner", Marker: h.id("run"), Directory: "/tmp/scidex-analysis-" + id, Places: inside, Leased: leased(inside), End: "/inputs/flag"}
	owner := h.launch(id, slices.Concat([]string{"--input", end.input()}, flags, []string{encode(t, p)})...)
	owner.await("ready")
	lines := strings.Split(strings.TrimSpace(owner.said.String()), "\n")
	p.Told = json.RawMessage(lines[len(lines)-2])
	for _, w := range owner.family() {
		p.PIDs = append(p.PIDs, w.pid)
	}
	p.Role = "seeker"
	all := h.verdictsOf(h.launch(h.newID(), append(flags, encode(t, p))...))
	p.Places, p.Leased, p.Only = onHost, leased(onHost), []string{"flock", "record lock", "descriptor's lock", "lease", "watch"}
	for name, got := range outside(t, "peers.py", encode(t, p)) {
		all["host "+name] = got
	}
	end.raise()
	maps.Copy(all, h.verdictsOf(owner))
	all.each(t, func(name, got string) string {
		if road, ok := strings.CutPrefix(name, "left "); ok {
			refused := strings.HasPrefix(road, "keyring") || strings.HasPrefix(road, "lease") || road == "queue of POSIX" && landlock.Version() > 0
			return unless(got == "ok" || refused, "it could not be left, so that it was not sought")
		}
		if strings.Contains(name, "did ") || throughTheHost.MatchString(name) {
			return ""
		}
		return unless(got != "ok", "two met")
	})
	for name := range control {
		if all[name] == "" {
			t.Errorf("%s was not tried inside", name)
		}
	}
}

// throughTheHost are means that work: devices are the host's own inodes, and so are their locks and watches.
var throughTheHost = regexp.MustCompile(`^(host )?(found|felt) .*(lock|lease|watch) on a device$`)

// leased are the places that the caller can change.
func leased(places map[string]string) map[string]string {
	return map[string]string{"data": places["data"], "an input": places["an input"]}
}

// verdictsOf waits for the end of a peer and returns what it says.
func (h *harness) verdictsOf(l *launch) verdicts {
	h.t.Helper()
	r := l.wait()
	if r.State != "complete" {
		h.t.Fatalf("%s\n%s", r.Message, h.stderrOf(r))
	}
	return decodeVerdicts(h.t, []byte(h.stdoutOf(r)))
}
