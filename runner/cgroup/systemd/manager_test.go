package systemd

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
		if got := (Manager{c.uid}).sliceFor(c.group); got != c.want {
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
		for _, s := range (Manager{7}).sockets() {
			got = append(got, s.path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("with XDG_RUNTIME_DIR=%q: %q, want %q", runtimeDir, got, want)
		}
		if root := (Manager{0}).sockets(); root[0].path != "/run/systemd/private" || root[0].daemon {
			t.Errorf("root's come from the environment: %v", root)
		}
	}
}

func TestNotRunning(t *testing.T) {
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
	if _, err := connect(t.Context(), []socket{{filepath.Join(dir, "none"), true}, {dead, false}}); !errors.Is(err, ErrNotRunning) {
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
	if err == nil || errors.Is(err, ErrNotRunning) || !strings.Contains(err.Error(), "cannot be asked at "+path) {
		t.Errorf("got %v", err)
	}
}
