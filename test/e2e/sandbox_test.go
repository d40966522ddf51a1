package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// posture is what posture.py says of the process it is.
type posture struct {
	Status         map[string]string   `json:"status"`
	Descriptors    map[string]string   `json:"descriptors"`
	Environment    map[string]string   `json:"environment"`
	Limits         map[string][2]int64 `json:"limits"`
	OOMScoreAdj    string              `json:"oom_score_adj"`
	UserNamespaces string              `json:"user_namespaces"`
	Namespaces     map[string]string   `json:"namespaces"`
	Interfaces     []string            `json:"interfaces"`
	Mounts         map[string][]string `json:"mounts"`
	Hostname       string              `json:"hostname"`
	Directory      string              `json:"directory"`
	Root           []string            `json:"root"`
	Etc            []string            `json:"etc"`
	Terminal       bool                `json:"terminal"`
}

func (h *house) posture(flags ...string) (posture, result) {
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

// careless starts a program with open descriptors, ignored signals, no umask and a canary in its
// environment.
const careless = `trap '' INT USR1; umask 0; CANARY=1; export CANARY; exec "$@" 7</etc/passwd 9>/dev/null`

// TestInheritsNothing starts the launcher carelessly.
func TestInheritsNothing(t *testing.T) {
	h := newHouse(t)
	control := decodePosture(t, h.finish(h.command("/bin/sh", "-c", careless, "sh", "/usr/bin/python3", "-B", testdata(t, "posture.py"))).stdout)
	if control.Descriptors["7"] == "" || control.Descriptors["9"] == "" || control.Status["Umask"] != "0000" ||
		control.Environment["CANARY"] != "1" || control.Status["SigIgn"] == ignoredByPython {
		t.Fatalf("the control inherits nothing either: %+v", control)
	}
	id := h.fresh()
	out := h.finish(h.command("/bin/sh", "-c", careless, "sh", theHost.bin, "run", "--json", "--id", id,
		"--project", testdata(t, "."), "--script", testdata(t, "posture.py")))
	if out.code != 0 {
		t.Fatal(out.stdout, out.stderr)
	}
	checkOwn(t, decodePosture(t, h.stdoutOf(h.show(id))))
}

// ignoredByPython are SIGPIPE and SIGXFSZ.
const ignoredByPython = "0000000001001000"

// checkOwn checks what a process could inherit.
func checkOwn(t *testing.T, p posture) {
	t.Helper()
	if got, want := fmt.Sprint(p.Descriptors), "map[0:0o20000 1:0o10000 2:0o10000]"; got != want {
		t.Errorf("open descriptors %s, want %s: /dev/null and two pipes", got, want)
	}
	for name, want := range map[string]string{"Umask": "0027", "SigBlk": "0000000000000000", "SigIgn": ignoredByPython} {
		if got := p.Status[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if p.Environment["CANARY"] != "" {
		t.Error("a variable of the launcher came through")
	}
}

// TestPosture looks at a run from inside.
func TestPosture(t *testing.T) {
	h := newHouse(t)
	p, r := h.posture()
	user := "0"
	if theHost.ranged {
		user = "1000"
	}
	four := strings.Join([]string{user, user, user, user}, "\t")
	want := map[string]string{
		"Uid": four, "Gid": four, "NoNewPrivs": "1", "Seccomp": "2",
		"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000",
		"CapBnd": "0000000000000000", "CapAmb": "0000000000000000",
	}
	if theHost.ranged {
		want["Groups"] = ""
	}
	for name, value := range want {
		if got := strings.TrimSpace(p.Status[name]); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if theHost.ranged && r.Sandbox.UIDOnHost == os.Geteuid() {
		t.Error("the run had the caller's own id")
	}
	checkOwn(t, p)
	if p.OOMScoreAdj != "500" || p.Hostname != "scidex" || p.Directory != "/work" || p.Terminal {
		t.Errorf("oom_score_adj %s, hostname %s, directory %s, terminal %v", p.OOMScoreAdj, p.Hostname, p.Directory, p.Terminal)
	}
	if !slices.Equal(p.Interfaces, []string{"lo"}) {
		t.Errorf("network interfaces %v, want lo alone", p.Interfaces)
	}
}

// TestLimitsOfTheProcess checks the rlimits: equal ones for soft and hard, so that none can be raised.
func TestLimitsOfTheProcess(t *testing.T) {
	h := newHouse(t)
	p, _ := h.posture("--memory", "700MiB", "--pids", "77", "--limits", "best-effort")
	for name, want := range map[string]int64{
		"RLIMIT_CORE": 0, "RLIMIT_MEMLOCK": 64 << 10, "RLIMIT_MSGQUEUE": 819200, "RLIMIT_NOFILE": min(65536, hardFiles(t)),
		"RLIMIT_DATA": 700 << 20, "RLIMIT_NPROC": 77,
	} {
		if got := p.Limits[name]; got != [2]int64{want, want} {
			t.Errorf("%s is %v, want twice %d", name, got, want)
		}
	}
}

// hardFiles is the caller's own hard limit of descriptors, above which only the host's root comes.
func hardFiles(t *testing.T) int64 {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return int64(limit.Max)
}

// TestEnvironment gives the launcher a variable that must not come through, and asks for others.
func TestEnvironment(t *testing.T) {
	h := newHouse(t)
	h.setenv("CANARY", "of the launcher")
	h.setenv("PGPASSWORD", "secret")
	h.setenv("WANTED", "from outside")
	h.setenv("TOKEN", "hidden")
	h.write("data/x", "", 0o644)
	p, r := h.posture("--env", "GIVEN=a=b", "--env", "WANTED", "--secret", "TOKEN", "--cpus", "1.5")
	want := map[string]string{
		"GIVEN": "a=b", "WANTED": "from outside", "TOKEN": "hidden",
		"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/home/analysis", "USER": "analysis", "LOGNAME": "analysis",
		"TMPDIR": "/tmp", "TZ": "UTC", "LANG": "C.UTF-8",
		"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1", "SOURCE_DATE_EPOCH": "315532800",
		"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "NUMEXPR_NUM_THREADS": "2",
		"PYTHON_CPU_COUNT":   "2",
		"SCIDEX_ANALYSIS_ID": r.ID, "SCIDEX_WORK_DIR": "/work", "SCIDEX_DATA_DIR": "/data",
	}
	for name, value := range want {
		if p.Environment[name] != value {
			t.Errorf("%s=%s, want %s", name, p.Environment[name], value)
		}
	}
	for name, value := range p.Environment {
		below := strings.HasPrefix(value, "/home/analysis/")
		known := strings.HasPrefix(name, "XDG_") || name == "MPLCONFIGDIR" || name == "NUMBA_CACHE_DIR"
		if _, ok := want[name]; !ok && (!known || !below) {
			t.Errorf("unexpected %s=%s", name, value)
		}
	}
	if text := h.good("show", "--json", r.ID).stdout; strings.Contains(text, "hidden") {
		t.Errorf("the secret's value is shown: %s", text)
	}
}

// TestMounts demands that nothing of the host can be written and nothing of the analysis can become
// someone's program or device.
func TestMounts(t *testing.T) {
	h := newHouse(t)
	h.write("data/x", "", 0o644)
	p, _ := h.posture("--docs", "data")
	for _, path := range []string{"/", "/usr", "/data", "/docs", "/analysis", "/dev/scidex-init"} {
		mustHave(t, p, path, "ro", "nosuid", "nodev")
	}
	for _, path := range []string{"/work", "/tmp", "/dev/shm", "/home/analysis"} {
		mustHave(t, p, path, "rw", "nosuid", "nodev")
	}
	devices := []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
	for path, options := range p.Mounts {
		switch {
		case strings.HasPrefix(path, "/proc"), slices.Contains(devices, path):
		case !slices.Contains(options, "nosuid"), !slices.Contains(options, "nodev") && path != "/dev" && path != "/dev/pts":
			t.Errorf("%s is mounted %v", path, options)
		case strings.HasPrefix(path, "/sys"):
			t.Errorf("%s is mounted", path)
		}
	}
	mustHave(t, p, "/proc", "ro")
	if want := strings.Fields("analysis bin data dev docs etc home inputs lib lib64 proc run sbin sys tmp usr var work"); !slices.Equal(
		slices.DeleteFunc(p.Root, func(name string) bool { return name == "lib32" || name == "libx32" }), want) {
		t.Errorf("/ holds %v, want %v", p.Root, want)
	}
	for _, name := range []string{"shadow", "ssh", "hostname.d", "machine-id", "sudoers", "postgresql", "gshadow", "subuid"} {
		if slices.Contains(p.Etc, name) {
			t.Errorf("/etc holds %s", name)
		}
	}
}

func mustHave(t *testing.T, p posture, path string, options ...string) {
	t.Helper()
	for _, option := range options {
		if !slices.Contains(p.Mounts[path], option) {
			t.Errorf("%s is mounted %v, want %s", path, p.Mounts[path], option)
		}
	}
}

// TestNamespaces demands namespaces of its own of every kind but time.
func TestNamespaces(t *testing.T) {
	h := newHouse(t)
	p, _ := h.posture()
	for _, kind := range []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"} {
		own, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Namespaces[kind]; got == "" || got == own {
			t.Errorf("namespace %s is %q, ours is %q", kind, got, own)
		}
	}
	if p.UserNamespaces != "0" {
		t.Errorf("%s user namespaces may be made inside, want 0", p.UserNamespaces)
	}
}

// TestSelfIsTheCaller: --ids self runs with the caller's own id, which is never the host's root; what
// groups a single id could not drop are in the result.
func TestSelfIsTheCaller(t *testing.T) {
	h := newHouse(t)
	if theHost.root {
		h.bad([]string{"run", "--id", h.fresh(), "--ids", "self", "--", "true"}, "--ids self", "root")
		return
	}
	p, r := h.posture("--ids", "self")
	if r.Sandbox.IDs != "self" || r.Sandbox.UIDOnHost != os.Geteuid() {
		t.Errorf("ids %q, uid on the host %d, want self and %d", r.Sandbox.IDs, r.Sandbox.UIDOnHost, os.Geteuid())
	}
	if got := p.Status["CapEff"]; got != "0000000000000000" {
		t.Errorf("capabilities %s", got)
	}
	out, err := exec.Command("id", "-G").Output()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(out))) - 1; !theHost.ranged && len(r.Sandbox.Groups) != n {
		t.Errorf("the result lists %v, but the caller has %d supplementary groups", r.Sandbox.Groups, n)
	}
}
