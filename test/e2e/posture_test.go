package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// posture is what posture.py reports about its own process.
type posture struct {
	Status         map[string]string   `json:"status"`
	Descriptors    map[string]string   `json:"descriptors"`
	Environment    map[string]string   `json:"environment"`
	Limits         map[string][2]int64 `json:"limits"`
	OOMScoreAdj    string              `json:"oom_score_adj"`
	UserNamespaces string              `json:"user_namespaces"`
	Namespaces     map[string]string   `json:"namespaces"`
	Interfaces     []string            `json:"interfaces"`
	Hostname       string              `json:"hostname"`
	Directory      string              `json:"directory"`
	Root           []string            `json:"root"`
	Etc            []string            `json:"etc"`
	Terminal       bool                `json:"terminal"`
	TTY            string              `json:"tty"` // 0 without a controlling terminal
	MountInfo      []string            `json:"mountinfo"`
	Scheduling     []int               `json:"scheduling"` // policy, nice, personality
	UIDMap         []string            `json:"uid_map"`
	GIDMap         []string            `json:"gid_map"`
	Cgroup         []string            `json:"cgroup"`
	Devices        map[string]string   `json:"devices"`
	Writable       []string            `json:"writable"`
	Processes      []string            `json:"processes"`
}

func (h *harness) posture(flags ...string) (posture, result) {
	h.t.Helper()
	r := h.analysis("posture.py", flags)
	r.expect(h.t, "complete", "exit", 0)
	return decodePosture(h.t, h.stdoutOf(r)), r
}

func decodePosture(t *testing.T, text string) posture {
	t.Helper()
	var p posture
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return p
}

// ways are how a run can be started. The golden files have the posture of the first one, and what differs from it for
// the others.
var ways = []struct {
	name  string
	start func(h *harness) posture
}{
	{"command", func(h *harness) posture {
		return h.postureOf("--project", testdata(h.t, "."), "--", "python3", "-B", "/analysis/posture.py")
	}},
	{"script", func(h *harness) posture { return h.postureOf("--script", testdata(h.t, "posture.py")) }},
	{"manifest", func(h *harness) posture {
		return h.postureOf("-f", h.write("run.yaml", "script: "+testdata(h.t, "posture.py")+"\nproject: "+testdata(h.t, ".")+"\n", 0o644))
	}},
	{"again", func(h *harness) posture {
		id := h.newID()
		h.start("--id", id, "--project", testdata(h.t, "."), "--", "python3", "-B", "/analysis/posture.py").expect(h.t, "complete", "exit", 0)
		r := h.start("--again", id)
		return decodePosture(h.t, h.stdoutOf(r))
	}},
	{"data", func(h *harness) posture {
		h.write("data/x", "", 0o644)
		h.write("docs/x", "", 0o644)
		return h.postureOf("--input", h.write("in/x", "", 0o644), "--input", h.path("in")+":/inputs/all",
			"--project", testdata(h.t, "."), "--", "python3", "-B", "/analysis/posture.py")
	}},
	{"no-data", func(h *harness) posture {
		h.write("data/x", "", 0o644)
		return h.postureOf("--data", "none", "--project", testdata(h.t, "."), "--", "python3", "-B", "/analysis/posture.py")
	}},
	{"best-effort", func(h *harness) posture {
		return h.postureOf("--limits", "best-effort", "--memory", "700MiB", "--pids", "77",
			"--project", testdata(h.t, "."), "--", "python3", "-B", "/analysis/posture.py")
	}},
	{"self", func(h *harness) posture {
		if theHost.root {
			h.t.Log("not covered here: root has no --ids self (TestSelfIsTheCaller); the tests as other users have")
			return posture{}
		}
		return h.postureOf("--ids", "self", "--project", testdata(h.t, "."), "--", "python3", "-B", "/analysis/posture.py")
	}},
	{"rootfs", func(h *harness) posture {
		return h.postureOf("--rootfs", h.pythonTree("tree"), "--project", testdata(h.t, "."), "--", "python3", "-B", "/analysis/posture.py")
	}},
	{"closed", func(h *harness) posture { return h.carelessly(`exec "$@" <&- >&- 2>&-`) }},
	{"careless", func(h *harness) posture {
		checkCareless(h)
		return h.carelessly(careless)
	}},
	{"terminal", func(h *harness) posture {
		id := h.newID()
		h.onTerminal(theHost.bin, "run", "--id", id, "--project", testdata(h.t, "."), "--", "python3", "-B", "/analysis/posture.py")
		return decodePosture(h.t, h.stdoutOf(h.show(id)))
	}},
	{"bundle", (*harness).underRunc},
}

// TestGoldenPosture compares all that a process can see of its own confinement, for each way of starting.
func TestGoldenPosture(t *testing.T) {
	var first []string
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			h := newHarness(t)
			p := way.start(h)
			if len(p.Status) == 0 {
				return
			}
			lines := p.lines(t)
			if first == nil {
				first = lines
			} else {
				lines = difference(first, lines)
			}
			compareGolden(t, way.name, lines)
		})
	}
}

func (h *harness) postureOf(args ...string) posture {
	h.t.Helper()
	r := h.start(append([]string{"--id", h.newID()}, args...)...)
	r.expect(h.t, "complete", "exit", 0)
	return decodePosture(h.t, h.stdoutOf(r))
}

// carelessly starts the launcher by a script of the shell.
func (h *harness) carelessly(script string) posture {
	h.t.Helper()
	id := h.newID()
	out := h.finish(h.command("/bin/sh", "-c", script, "sh", theHost.bin, "run", "--quiet", "--id", id,
		"--project", testdata(h.t, "."), "--", "python3", "-B", "/analysis/posture.py"))
	if out.code != 0 {
		h.t.Fatal(out.stdout, out.stderr)
	}
	return decodePosture(h.t, h.stdoutOf(h.show(id)))
}

// careless starts a program with open descriptors, ignored signals, no umask and a canary in its
// environment.
const careless = `trap '' INT USR1; umask 0; CANARY=1; export CANARY; exec "$@" 7</etc/passwd 9>/dev/null`

// checkCareless is the control: a plain process that is started like this inherits all of it.
func checkCareless(h *harness) {
	h.t.Helper()
	p := decodePosture(h.t, h.finish(h.command("/bin/sh", "-c", careless, "sh", "/usr/bin/python3", "-B", testdata(h.t, "posture.py"))).stdout)
	if p.Descriptors["7"] == "" || p.Descriptors["9"] == "" || p.Status["Umask"] != "0000" ||
		p.Environment["CANARY"] != "1" || p.Status["SigIgn"] == ignoredByPython {
		h.t.Fatalf("the control inherits nothing either: %+v", p)
	}
}

// ignoredByPython are SIGPIPE and SIGXFSZ.
const ignoredByPython = "0000000001001000"

// underRunc starts a bundle with the runc of the distribution.
func (h *harness) underRunc() posture {
	h.t.Helper()
	for dir := h.dir; dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { // for the ids of root's container
			h.t.Fatal(err)
		}
	}
	id := h.newID()
	h.mustRun("spec", "--bundle", "bundle", "--id", id, "--project", testdata(h.t, "."), "--", "python3", "-B", "/analysis/posture.py")
	out := h.finish(h.command("runc", "--root", h.path("state"), "run", "--bundle", h.path("bundle"), id))
	if out.code != 0 {
		h.t.Fatal(out.stderr)
	}
	return decodePosture(h.t, out.stdout)
}
