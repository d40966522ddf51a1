// Package mountfd makes mounts that are attached nowhere yet, held by descriptors, and attaches them (fsopen(2), open_tree(2),
// mount_setattr(2), move_mount(2)).
package mountfd

import (
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
)

// New makes a detached file system. An option is "KEY=VALUE" or a flag.
func New(kind string, attributes uint64, options []string) (*os.File, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("fsopen: %w", err)
	}
	defer unix.Close(fs)
	for _, option := range options {
		key, value, valued := strings.Cut(option, "=")
		if valued {
			err = unix.FsconfigSetString(fs, key, value)
		} else {
			err = unix.FsconfigSetFlag(fs, key)
		}
		if err != nil {
			return nil, fmt.Errorf("option %s: %w", option, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, fmt.Errorf("fsconfig: %w", err)
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, int(attributes))
	if err != nil {
		return nil, fmt.Errorf("fsmount: %w", err)
	}
	return os.NewFile(uintptr(mount), kind), nil
}

// AttachBelow mounts on a directory below top. It follows no links: they may come from an image.
func AttachBelow(top, below string, mount *os.File) error {
	dir, err := unix.Open(top, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	target, err := beneath.Openat2(dir, path.Join(".", below), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return os.NewSyscallError("openat2", err)
	}
	defer unix.Close(target)
	return AttachOn(target, mount)
}

// AttachOn mounts on an open descriptor.
func AttachOn(target int, mount *os.File) error {
	const descriptors = unix.MOVE_MOUNT_F_EMPTY_PATH | unix.MOVE_MOUNT_T_EMPTY_PATH
	return os.NewSyscallError("move_mount", unix.MoveMount(int(mount.Fd()), "", target, "", descriptors))
}
