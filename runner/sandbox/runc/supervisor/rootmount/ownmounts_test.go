package rootmount

import (
	"slices"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

func TestSplit(t *testing.T) {
	attributes, rest := split([]string{"nosuid", "mode=755", "strictatime", "noexec", "size=1k", "nodev", "newinstance", "ro"})
	const want = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_STRICTATIME | unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_RDONLY
	if attributes != want || !slices.Equal(rest, []string{"mode=755", "size=1k", "newinstance"}) {
		t.Errorf("%#x, %q, want %#x and what is no flag", attributes, rest, uint64(want))
	}
}

// TestOutside translates ids as a user with a range maps them.
func TestOutside(t *testing.T) {
	maps := func(root, analysis uint32) []specs.LinuxIDMapping {
		return []specs.LinuxIDMapping{{ContainerID: 0, HostID: root, Size: 1}, {ContainerID: 1000, HostID: analysis, Size: 2}}
	}
	linux := &specs.Linux{UIDMappings: maps(3, 4), GIDMappings: maps(5, 6)}
	given := []string{"uid=0", "gid=0", "uid=1001", "gid=1000", "uid=7", "uid=x", "size=1000", "newinstance"}
	want := []string{"uid=3", "gid=5", "uid=5", "gid=6", "uid=7", "uid=x", "size=1000", "newinstance"}
	if got := outside(given, linux); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestOwnMounts leaves nothing to libcontainer that mountOwn or bindAll mounts.
func TestOwnMounts(t *testing.T) {
	got := ownMounts("/staged", []specs.Mount{
		{Destination: "/proc", Type: "proc"},
		{Destination: "/dev", Type: "tmpfs"},
		{Destination: "/dev/pts", Type: "devpts"},
		{Destination: "/tmp", Type: "tmpfs"},
		{Destination: "/usr", Type: "bind", Source: "/usr"},
		{Destination: "/dev/scidex-init", Type: "bind", Source: protocol.InitPath},
		{Destination: "/work", Type: "bind"},
	})
	if len(got) != 2 || got[0].Destination != "/proc" || got[1].Type != "bind" || got[1].Source != "/staged" {
		t.Errorf("%+v, want /proc and a bind of /dev", got)
	}
}
