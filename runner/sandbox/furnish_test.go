package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
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

// TestOwnMounts leaves nothing to libcontainer that furnish or bindAll mounts.
func TestOwnMounts(t *testing.T) {
	got := ownMounts("/staged", []specs.Mount{
		{Destination: "/proc", Type: "proc"},
		{Destination: "/dev", Type: "tmpfs"},
		{Destination: "/dev/pts", Type: "devpts"},
		{Destination: "/tmp", Type: "tmpfs"},
		{Destination: "/usr", Type: "bind", Source: "/usr"},
		{Destination: "/dev/scidex-init", Type: "bind", Source: InitPath},
		{Destination: "/work", Type: "bind"},
	})
	if len(got) != 2 || got[0].Destination != "/proc" || got[1].Type != "bind" || got[1].Source != "/staged" {
		t.Errorf("%+v, want /proc and a bind of /dev", got)
	}
}

// TestAttachBelowFollowsNoLink has links in an image's root where something is to be mounted.
func TestAttachBelowFollowsNoLink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root mounts here; the attacks of the end-to-end suite try images with links in every tier")
	}
	root, elsewhere := t.TempDir(), t.TempDir()
	for _, dir := range []string{"home", "plain"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"tmp": elsewhere, "home/analysis": "../plain", "up": ".."} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for below, want := range map[string]error{
		"/tmp": unix.ELOOP, "/home/analysis": unix.ELOOP, "/up": unix.ELOOP, "/../x": unix.EXDEV, "/none": unix.ENOENT, "/plain": nil,
	} {
		mount, err := newMount("tmpfs", readWrite, []string{"size=4096"})
		if err != nil {
			t.Fatal(err)
		}
		err = attachBelow(root, below, mount)
		if err == nil {
			t.Cleanup(func() {
				if err := unmount(filepath.Join(root, below)); err != nil {
					t.Error(err)
				}
			})
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", below, err, want)
		}
		mount.Close()
	}
}
