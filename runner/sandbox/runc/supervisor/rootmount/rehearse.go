package rootmount

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/mountfd"
)

// A rehearsal does one thing that a supervisor does for a run, with the same code. It is for a process that is the only one in
// its namespaces and exits afterwards (runner/check/doctor): nothing is undone.

// RehearseTmpfs makes the staging area.
func RehearseTmpfs() error { return MountStage() }

func rehearseArea() (Area, error) {
	if err := MountStage(); err != nil {
		return Area{}, err
	}
	return NewArea("rehearsal")
}

// errConnected is the error of an ineffective wall.
var errConnected = errors.New("a unix socket below the overlay could be connected to")

// RehearseOverlay shows a directory with a unix socket as runs do, and tries the socket.
func RehearseOverlay() error {
	a, err := rehearseArea()
	if err != nil {
		return err
	}
	l, err := net.Listen("unix", filepath.Join(a.lower(), "socket"))
	if err != nil {
		return err
	}
	defer l.Close()
	target := a.shown()
	if err := mountOverlay(target, []string{emptyDir, a.lower()}); err != nil {
		return fmt.Errorf("mount an overlay: %w", err)
	}
	c, err := net.Dial("unix", filepath.Join(target, "socket"))
	switch {
	case err == nil:
		return errors.Join(errConnected, c.Close())
	case !errors.Is(err, unix.ECONNREFUSED):
		return fmt.Errorf("connect through the overlay: %w", err)
	}
	return nil
}

// errWritten is the error of an ineffective read-only mount.
var errWritten = errors.New("a read-only mount could be written to")

// RehearseBind binds a directory read-only from its descriptor (open_tree(2), mount_setattr(2), move_mount(2)), and
// tries to write there.
func RehearseBind() error {
	a, err := rehearseArea()
	if err != nil {
		return err
	}
	mount, err := mountfd.Open(a.lower(), mountfd.ReadOnly)
	if err != nil {
		return err
	}
	defer mount.Close()
	if err := mountfd.Attach(mount, emptyDir); err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(emptyDir, "file"), nil, 0o600)
	switch {
	case err == nil:
		return errWritten
	case !errors.Is(err, unix.EROFS):
		return fmt.Errorf("write below a read-only mount: %w", err)
	}
	return nil
}
