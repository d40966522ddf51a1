package rootmount

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/mountfd"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// The container's own file systems are mounted here, not by libcontainer, which resolves each path some ten times
// (docs/adr/0013). libcontainer binds the root recursively. The container cannot unmount parts of it, since its mount
// namespace is less privileged (mount_namespaces(7), locked mounts). libcontainer mounts /proc, since the container's PID
// namespace does not exist yet.

const devDir = "/dev"

// mountAllOwn mounts a job's own file systems below root, in the order of its specification, and /dev at dev.
func mountAllOwn(root, dev string, job *protocol.Job) error {
	for _, m := range job.Spec.Mounts {
		if !isOwnMount(m) {
			continue
		}
		top, below := root, m.Destination
		if name, is := strings.CutPrefix(m.Destination+"/", devDir+"/"); is {
			top, below = dev, name
		}
		if err := mountOwn(top, below, m, job.Spec); err != nil {
			return fmt.Errorf("%s: %w", m.Destination, err)
		}
	}
	return nil
}

// isOwnMount reports whether mountOwn mounts m.
func isOwnMount(m specs.Mount) bool { return m.Type == "tmpfs" || m.Type == "devpts" }

func mountOwn(top, below string, m specs.Mount, container *specs.Spec) error {
	attributes, options := split(m.Options)
	if m.Type == "tmpfs" { // as if mounted in the container's user namespace
		options = append([]string{"uid=0", "gid=0"}, options...)
	}
	options = append(outside(options, container.Linux), "source="+m.Source)
	mount, err := mountfd.New(m.Type, attributes&^unix.MOUNT_ATTR_RDONLY, options)
	if err != nil {
		return err
	}
	defer mount.Close()
	if err := mountfd.AttachBelow(top, below, mount); err != nil {
		return err
	}
	if m.Destination == devDir {
		if err := fillDev(mount, container.Mounts); err != nil {
			return err
		}
	}
	attr := unix.MountAttr{Attr_set: attributes & unix.MOUNT_ATTR_RDONLY}
	if attr.Attr_set == 0 {
		return nil
	}
	return os.NewSyscallError("mount_setattr", unix.MountSetattr(int(mount.Fd()), "", unix.AT_EMPTY_PATH, &attr))
}

// split separates the mount flags from the options of mount(8).
func split(options []string) (attributes uint64, rest []string) {
	for _, option := range options {
		switch option {
		case "ro":
			attributes |= unix.MOUNT_ATTR_RDONLY
		case "nosuid":
			attributes |= unix.MOUNT_ATTR_NOSUID
		case "nodev":
			attributes |= unix.MOUNT_ATTR_NODEV
		case "noexec":
			attributes |= unix.MOUNT_ATTR_NOEXEC
		case "strictatime":
			attributes |= unix.MOUNT_ATTR_STRICTATIME
		default:
			rest = append(rest, option)
		}
	}
	return attributes, rest
}

// outside translates the container's ids in options to the supervisor's user namespace. An unmapped id is left as it is;
// the kernel refuses it or shows nobody.
func outside(options []string, linux *specs.Linux) []string {
	out := make([]string, len(options))
	for i, option := range options {
		out[i] = option
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "uid":
			out[i] = key + "=" + outerID(linux.UIDMappings, value)
		case "gid":
			out[i] = key + "=" + outerID(linux.GIDMappings, value)
		}
	}
	return out
}

func outerID(mappings []specs.LinuxIDMapping, id string) string {
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		return id
	}
	for _, m := range mappings {
		if first := uint64(m.ContainerID); n >= first && n < first+uint64(m.Size) {
			return strconv.FormatUint(uint64(m.HostID)+n-first, 10)
		}
	}
	return id
}

// ownMounts returns what libcontainer mounts: /proc, and /dev, which it leaves empty if bound.
func ownMounts(dev string, mounts []specs.Mount) []specs.Mount {
	var own []specs.Mount
	for _, m := range mounts {
		switch {
		case m.Type == "proc":
			own = append(own, m)
		case m.Destination == devDir:
			own = append(own, specs.Mount{Destination: devDir, Type: "bind", Source: dev, Options: []string{"rbind"}})
		}
	}
	return own
}
