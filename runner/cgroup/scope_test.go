package cgroup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgrouptest"
)

// What only a real systemd can show is in test/e2e/vm.

func TestSliceFor(t *testing.T) {
	for _, c := range []struct {
		uid         int
		group, want string
	}{
		{1000, "/user.slice/user-1000.slice/session-2.scope", "app.slice"},
		{1000, "/system.slice/cron.service", "app.slice"},
		{1000, "/user.slice/user-1000.slice/user@1000.service/init.scope", "app.slice"},
		{1000, "/user.slice/user-1000.slice/user@1000.service/app.slice/app-a.slice/x.service", "app-a.slice"},
		{1000, "/user.slice/user-1001.slice/user@1001.service/b.slice/x.service", "app.slice"},
		{0, "/system.slice/analyses.service", "system.slice"},
		{0, "/scidex.slice/scidex-a.slice/x.service/leaf", "scidex-a.slice"},
		{0, "/user.slice/user-0.slice/session-1.scope", "user-0.slice"},
		{0, "/user.slice/user-0.slice/user@0.service/app.slice/x.service", "user-0.slice"},
		{0, "/init.scope", "system.slice"},
		{0, "/", "system.slice"},
	} {
		if got := (manager{c.uid}).sliceFor(c.group); got != c.want {
			t.Errorf("user %d in %s: %s, want %s", c.uid, c.group, got, c.want)
		}
	}
}

func TestSockets(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/elsewhere/bus")
	for runtimeDir, want := range map[string][]string{
		"":               {"/run/user/7/bus", "/run/user/7/systemd/private"},
		"/run/user/7/":   {"/run/user/7/bus", "/run/user/7/systemd/private"},
		"not/absolute":   {"/run/user/7/bus", "/run/user/7/systemd/private"},
		"/tmp/of/a/user": {"/tmp/of/a/user/bus", "/tmp/of/a/user/systemd/private", "/run/user/7/bus", "/run/user/7/systemd/private"},
	} {
		t.Setenv("XDG_RUNTIME_DIR", runtimeDir)
		var got []string
		for _, s := range (manager{7}).sockets() {
			got = append(got, s.path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("with XDG_RUNTIME_DIR=%q: %q, want %q", runtimeDir, got, want)
		}
		if root := (manager{0}).sockets(); root[0].path != "/run/systemd/private" || root[0].daemon {
			t.Errorf("root's come from the environment: %v", root)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	dir := t.TempDir()
	dead := filepath.Join(dir, "dead")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t.Context(), []socket{{filepath.Join(dir, "none"), true}, {dead, false}}); !errors.Is(err, errNoManager) {
		t.Errorf("got %v", err)
	}
}

// A manager that takes the connection and says nothing is waited for until the context ends. What is behind
// another socket is tried.
func TestSilentManager(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if conn, err := listener.Accept(); err == nil {
			defer conn.Close()
			cancel()
			<-t.Context().Done()
		}
	}()
	_, err = connect(ctx, []socket{{path + "-none", false}, {path, true}})
	if err == nil || errors.Is(err, errNoManager) || !strings.Contains(err.Error(), "cannot be asked at "+path) {
		t.Errorf("got %v", err)
	}
}

// The sentences for a host where systemd gives no scope; on this one nobody is user 4294967.
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
		"of the host around":       {0, fmt.Errorf("cannot be asked: %w", errElsewhere), "the container that this is in"},
		"root without any manager": {0, errNoManager, "the container that this is in"},
	} {
		got := (manager{c.uid}).remedy(c.err)
		if !strings.Contains(got, c.want) || !strings.Contains(got, "`--limits best-effort`") || !strings.Contains(got, "`--limits outer`") {
			t.Errorf("%s: %q, want %q in it", name, got, c.want)
		}
	}
	want := "run as root"
	if booted() {
		want = "`loginctl enable-linger 4294967`"
	}
	if got := (manager{uid}).remedy(errNoManager); !strings.Contains(got, want) {
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

// handOver moves whoever is in a scope to its leaf.
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
