package sandbox

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// devices are what OCI wants of /dev (runtime-spec, config-linux.md, "Default Devices") but for /dev/console, which is
// of a terminal. A user namespace may make no device: those of the host are bound.
var devices = [...]string{"full", "null", "random", "tty", "urandom", "zero"}

// devLinks are those of the same document, "Dev symbolic links", and of "Default Devices".
var devLinks = map[string]string{
	"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx",
}

// fillDev makes what is in /dev, mount points of what is mounted in it among it.
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
		case m.Source == InitPath:
			err = bindIn(fd, name, InitPath, readOnly)
		case furnished(m):
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
	mount, err := open(source, attributes)
	if err != nil {
		return fmt.Errorf("bind %s: %w", source, err)
	}
	defer mount.Close()
	return attachOn(file, mount)
}
