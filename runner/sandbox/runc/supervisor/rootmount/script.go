package rootmount

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// putScript copies the script into the root filesystem.
func putScript(root string, s sandbox.Script, from *os.File) error {
	// By offset: the launcher's descriptor is at the end of the file.
	text := io.NewSectionReader(from, 0, math.MaxInt64)
	if s.Early == "" {
		return copyIn(root, s.Path, s.Mode, text)
	}
	return errors.Join(copyIn(root, s.Early, s.Mode, text), copyIn(root, s.Path, s.Mode, strings.NewReader("")))
}

func copyIn(root, path string, mode fs.FileMode, text io.Reader) error {
	if err := rootfs.MountPoint(root, path, false); err != nil {
		return err
	}
	f, err := openIn(root, path, os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, text)
	return errors.Join(err, f.Chmod(mode&0o555|0o444), f.Close())
}

func openIn(root, path string, flags int) (*os.File, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.OpenFile(strings.TrimPrefix(path, "/"), flags, 0)
}

// Script is one that is empty until its run begins (sandbox.Script.Early). The methods of nil do nothing.
type Script struct {
	early, file *os.File
	opened      *os.File // an inotify(7) descriptor; nil before Watch
	unwatched   error
}

// HoldScript opens the script of a job that was staged; nil where it is whole already.
func (a Area) HoldScript(job *protocol.Job) (_ *Script, err error) {
	if job.Script == nil || job.Script.Early == "" {
		return nil, nil
	}
	layer := a.tree()
	if job.Base != nil {
		layer = filepath.Join(layer, madeLayer)
	}
	s := &Script{}
	if s.early, err = openIn(layer, job.Script.Early, os.O_RDONLY); err == nil {
		s.file, err = openIn(layer, job.Script.Path, os.O_WRONLY)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Watch notes from now on who opens the script in the container whose first process is pid. Its error comes with Opened.
func (s *Script) Watch(pid int, path string) {
	if s == nil {
		return
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		s.unwatched = fmt.Errorf("inotify_init1: %w", err)
		return
	}
	s.opened = os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, fmt.Sprintf("/proc/%d/root%s", pid, path), unix.IN_OPEN); err != nil {
		s.unwatched = fmt.Errorf("inotify_add_watch: %w", err)
	}
}

// Opened reports whether the script was opened since Watch.
func (s *Script) Opened() (bool, error) {
	if s == nil {
		return false, nil
	}
	if s.unwatched != nil {
		return false, s.unwatched
	}
	size, err := unix.IoctlGetInt(int(s.opened.Fd()), unix.TIOCINQ) // bytes of events (FIONREAD)
	return size > 0, err
}

// Write makes the script whole.
func (s *Script) Write() error {
	if s == nil {
		return nil
	}
	_, err := io.Copy(s.file, s.early)
	return err
}

// Close ends the use of the script.
func (s *Script) Close() {
	if s != nil {
		protocol.Discard([]*os.File{s.early, s.file, s.opened})
	}
}
