package spec

import (
	"fmt"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// maxEntries bounds the files of a tmpfs: each takes kernel memory in addition to its contents.
const maxEntries = 100_000

// withKernelMounts adds the filesystems that programs require. There is no sysfs, cgroupfs or mqueue: they are not
// needed, and each exposes more of the host; rootfs makes the files of a cgroupfs that programs read. devpts has no gid
// option: group tty is not mapped. /dev becomes read-only once its devices are made; they stay usable.
func withKernelMounts(_ Analysis, _ Placement, s *specs.Spec) error {
	s.Mounts = append(s.Mounts,
		specs.Mount{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
		specs.Mount{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k", "ro"}},
		specs.Mount{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "max=16"}},
	)
	return nil
}

// withScratchMounts adds writable mounts that are gone with the run. Their contents count as the run's memory.
func withScratchMounts(a Analysis, place Placement, s *specs.Spec) error {
	half := int64(a.Memory / 2)
	s.Mounts = append(s.Mounts,
		tmpfs("/dev/shm", half, "mode=1777"),
		tmpfs("/tmp", half, "mode=1777"),
		tmpfs(homeDir, int64(256*MiB), "mode=0700", fmt.Sprintf("uid=%d", place.UID), fmt.Sprintf("gid=%d", place.GID)),
	)
	return nil
}

func tmpfs(destination string, bytes int64, options ...string) specs.Mount {
	options = append([]string{"nosuid", "nodev"}, options...)
	options = append(options, fmt.Sprintf("size=%d", bytes), fmt.Sprintf("nr_inodes=%d", maxEntries))
	return specs.Mount{Destination: destination, Type: "tmpfs", Source: "tmpfs", Options: options}
}

// withReadOnlyBinds binds the inputs and the root filesystem's directories. The r-forms of the flags are recursive
// (mount_setattr(2), Linux 5.12); plain "ro" leaves mounts below the source writable.
func withReadOnlyBinds(_ Analysis, place Placement, s *specs.Spec) error {
	options := []string{"rbind", "rprivate", "rro", "rnosuid", "rnodev"}
	if place.Portable {
		options = []string{"rbind", "rprivate", "ro", "nosuid", "nodev"}
	}
	for _, b := range place.Binds {
		s.Mounts = append(s.Mounts, bind(b.Source, b.Destination, options...))
	}
	return nil
}

// withWork binds the working directory, without mounts below it, last so that nothing hides it. If it is a tmpfs, the
// supervisor makes that, so that it can read it after the container has ended; other runtimes mount one of their own.
func withWork(a Analysis, place Placement, s *specs.Spec) error {
	if place.Portable && a.WorkStorage == WorkTmpfs {
		if a.Workdir != "" {
			return badField("workdir", "%s: another runtime cannot show a tmpfs twice: leave out work_storage", quote(a.Workdir))
		}
		work := a.WorkTmpfs(place.UID, place.GID, 0)
		s.Mounts = append(s.Mounts, specs.Mount{
			Destination: workDir, Type: "tmpfs", Source: "tmpfs", Options: append([]string{"nosuid", "nodev"}, work...),
		})
		return nil
	}
	for _, dir := range a.WorkDirs() {
		s.Mounts = append(s.Mounts, bind(place.Work, dir, "bind", "rprivate", "rw", "nosuid", "nodev"))
	}
	return nil
}

// WorkTmpfs returns the options of a tmpfs at /work that belongs to uid and gid (tmpfs(5)). It has one inode more than
// the bound, for its root, and one for each link that scidex-oci makes there.
func (a Analysis) WorkTmpfs(uid, gid uint32, links int) []string {
	return []string{
		fmt.Sprintf("size=%d", a.WorkSize), fmt.Sprintf("nr_inodes=%d", a.WorkFiles+1+int64(links)),
		"mode=0700", fmt.Sprintf("uid=%d", uid), fmt.Sprintf("gid=%d", gid),
	}
}

// initPath is where a container has the program of AddInit.
const initPath = "/dev/scidex-init"

// AddInit adds a program to a specification that is PID 1 and starts the analysis: the host's file source, bound read-only. Without it
// the analysis itself is PID 1.
func AddInit(s *specs.Spec, source string) {
	s.Mounts = append(s.Mounts, bind(source, initPath, "bind", "rprivate", "ro", "nosuid", "nodev"))
	s.Process.Args = append([]string{initPath}, s.Process.Args...)
}

func bind(source, destination string, options ...string) specs.Mount {
	return specs.Mount{Destination: destination, Type: "bind", Source: source, Options: options}
}
