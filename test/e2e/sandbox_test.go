package e2e

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestEnvironment gives the launcher a variable that must not reach the analysis, and requests others.
func TestEnvironment(t *testing.T) {
	h := newHarness(t)
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
		"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1", "SOURCE_DATE_EPOCH": "315532800", "MATPLOTLIBRC": "/etc/scidex-matplotlibrc",
		"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "NUMEXPR_NUM_THREADS": "2",
		"NUMBA_NUM_THREADS": "2", "RAYON_NUM_THREADS": "2", "POLARS_MAX_THREADS": "2", "PYTHON_CPU_COUNT": "2", "LOKY_MAX_CPU_COUNT": "2", "MC_CORES": "2",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
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
	if text := h.mustRun("show", "--json", r.ID).stdout; strings.Contains(text, "hidden") {
		t.Errorf("the secret's value is shown: %s", text)
	}
}

// TestEtcIsMadeUp: only those parts of the host's /etc are shown that programs need.
func TestEtcIsMadeUp(t *testing.T) {
	h := newHarness(t)
	p, _ := h.posture()
	for _, name := range []string{"shadow", "ssh", "hostname.d", "machine-id", "sudoers", "postgresql", "gshadow", "subuid"} {
		if slices.Contains(p.Etc, name) {
			t.Errorf("/etc holds %s", name)
		}
	}
	if !slices.Contains(p.Etc, "passwd") {
		t.Errorf("/etc holds %v", p.Etc)
	}
}

// TestIDsOfItsOwn: with a range the analysis is not the caller, without one the result says that it is.
func TestIDsOfItsOwn(t *testing.T) {
	h := newHarness(t)
	r := h.start("--id", h.newID(), "--", "true")
	if own := r.Sandbox.UIDOnHost != os.Geteuid(); own != theHost.ranged {
		t.Errorf("uid on the host %d, the caller's is %d", r.Sandbox.UIDOnHost, os.Geteuid())
	}
}

// TestSelfIsTheCaller: --ids self runs with the caller's own id, which is never the host's root; the result names the
// groups that a single id could not drop.
func TestSelfIsTheCaller(t *testing.T) {
	h := newHarness(t)
	if theHost.root {
		h.mustRefuse([]string{"run", "--id", h.newID(), "--ids", "self", "--", "true"}, "--ids self", "root")
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
