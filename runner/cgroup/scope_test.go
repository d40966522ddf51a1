package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgrouptest"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/systemd"
)

// The sentences for a host where systemd gives no scope; on this one no user is 4294967.
func TestRemedies(t *testing.T) {
	const uid = 4294967
	for name, c := range map[string]struct {
		uid  int
		err  error
		want string
	}{
		"refused":                  {uid, errors.New("refused a scope"), "XDG_RUNTIME_DIR=/run/user/4294967 systemd-run --user --scope -p Delegate=yes"},
		"refused to root":          {0, errors.New("refused a scope"), "`systemd-run --scope -p Delegate=yes"},
		"without controllers":      {uid, fmt.Errorf("made a scope, but %w", &lackingError{"/x", []string{"memory"}}), "Delegate=cpu cpuset io memory pids"},
		"of the host around":       {0, fmt.Errorf("cannot be asked: %w", systemd.ErrElsewhere), "the container that this is in"},
		"root without any manager": {0, systemd.ErrNotRunning, "the container that this is in"},
	} {
		got := remedyFor(systemd.Manager{UID: c.uid}, c.err)
		if !strings.Contains(got, c.want) || !strings.Contains(got, "`scidex-oci config set limits best-effort` (for one run: `--limits best-effort`)") || !strings.Contains(got, "`--limits outer`") {
			t.Errorf("%s: %q, want %q in it", name, got, c.want)
		}
	}
	want := "run as root"
	if systemd.Booted() {
		want = "`loginctl enable-linger 4294967`"
	}
	if got := remedyFor(systemd.Manager{UID: uid}, systemd.ErrNotRunning); !strings.Contains(got, want) {
		t.Errorf("without a manager: %q, want %q in it", got, want)
	}
}

func TestGrantCPU(t *testing.T) {
	user := fmt.Sprintf("/sys/fs/cgroup/user.slice/user-%d.slice/user@%d.service/app.slice/x.scope", os.Getuid(), os.Getuid())
	for dir, want := range map[string]string{user: "Delegate=cpu cpuset io memory pids", "/sys/fs/cgroup/x.slice/y.service": "Delegate=yes"} {
		if got := (&Parent{Version: 2, dirs: map[string]string{"": dir}}).GrantCPU(); !strings.Contains(got, want) {
			t.Errorf("in %s: %q, want %q in it", dir, got, want)
		}
	}
}

// handOver moves all processes of a scope to its leaf.
func TestHandOver(t *testing.T) {
	h := cgrouptest.NewHost(t)
	unified(h, "scope", "cpu memory pids", "", 12, 34)
	leaf := h.Write("scope/"+leafName+"/cgroup.procs", "")
	parent, err := handOver(filepath.Join(h.Dir, "scope"), true)
	if err != nil {
		t.Fatal(err)
	}
	if moved, err := os.ReadFile(leaf); err != nil || string(moved) != "34" { // the last one written
		t.Errorf("the leaf's cgroup.procs was written %q (%v)", moved, err)
	}
	if want := filepath.Join(h.Dir, "scope/scidex-oci-x"); parent.Plan("x")[0] != want {
		t.Errorf("planned %v, want %s", parent.Plan("x"), want)
	}
	unified(h, "poor", "cpu pids", "", 12)
	var lacking *lackingError
	if _, err := handOver(filepath.Join(h.Dir, "poor"), true); !errors.As(err, &lacking) || !strings.Contains(err.Error(), "the memory controller") {
		t.Errorf("without the memory controller: %v", err)
	}
}
