package rootmount

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/mountfd"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// devices are OCI's defaults (runtime-spec, config-linux.md, "Default Devices") except /dev/console, which needs a
// terminal. They are bound from the host: a user namespace cannot make device nodes.
var devices = [...]string{"full", "null", "random", "tty", "urandom", "zero"}

// devLinks are from the same document, "Dev symbolic links" and "Default Devices".
var devLinks = map[string]string{
	"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx",
}

// fillDev fills /dev, with the mount points of the mounts in it.
func fillDev(dev *os.File, mounts []specs.Mount) error {
	fd := int(dev.Fd())
	for name, target := range devLinks {
		if err := unix.Symlinkat(target, fd, name); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	for _, name := range devices {
		if err := bindIn(fd, name, filepath.Join(devDir, name), 0); err != nil {
			return err
		}
	}
	for _, m := range mounts {
		var err error
		switch name := path.Base(m.Destination); {
		case path.Dir(m.Destination) != devDir:
		case m.Source == protocol.InitPath:
			err = bindIn(fd, name, protocol.InitPath, mountfd.ReadOnly)
		case isOwnMount(m):
			err = unix.Mkdirat(fd, name, 0o755)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Destination, err)
		}
	}
	return nil
}

// bindIn binds a file on a new one in a directory.
func bindIn(dir int, name, source string, attributes uint64) error {
	file, err := unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	defer unix.Close(file)
	mount, err := mountfd.Open(source, attributes)
	if err != nil {
		return fmt.Errorf("bind %s: %w", source, err)
	}
	defer mount.Close()
	return mountfd.AttachOn(file, mount)
}
