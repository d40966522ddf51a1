package helper

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/mountfd"
)

const (
	name = "scidex-oci-second"
	last = 3 // the descriptor that a started process gets
)

// programs makes the two programs in a directory and returns a link to the first, as the kernel has one, and the second's path.
func programs(t *testing.T, build string) (link, helper string) {
	t.Helper()
	dir := t.TempDir()
	link, helper = filepath.Join(dir, "link"), filepath.Join(dir, name)
	for path, content := range map[string]string{filepath.Join(dir, "scidex-oci"): "whole", helper: "small" + stamp(name, build)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "scidex-oci"), link); err != nil {
		t.Fatal(err)
	}
	return link, helper
}

func TestOpen(t *testing.T) {
	build := strings.Repeat("0a", 32)
	link, helper := programs(t, build)
	file, err := Open(link, name, build, last)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if file.Name() != helper || file.Fd() <= last {
		t.Errorf("opened %s as %d", file.Name(), file.Fd())
	}
}

// TestAbove wants no descriptor that the child has another use for.
func TestAbove(t *testing.T) {
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := above(fd-1, fd); same != fd || err != nil {
		t.Errorf("%d: %v", same, err)
	}
	moved, err := above(fd, fd)
	if err != nil || moved <= fd {
		t.Errorf("%d: %v", moved, err)
	}
	defer unix.Close(moved)
	if flags, err := unix.FcntlInt(uintptr(moved), unix.F_GETFD, 0); err != nil || flags != unix.FD_CLOEXEC {
		t.Errorf("flags %d: %v", flags, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	build := strings.Repeat("0a", 32)
	for title, c := range map[string]struct {
		harm func(t *testing.T, link, helper string) error
		want error
	}{
		"none": {func(_ *testing.T, _, helper string) error { return os.Remove(helper) }, fs.ErrNotExist},
		"of another build": {func(_ *testing.T, _, helper string) error {
			return replace(helper, "small"+stamp(name, strings.Repeat("0b", 32)))
		}, errOtherBuild},
		"of none":               {func(_ *testing.T, _, helper string) error { return replace(helper, "small") }, errOtherBuild},
		"empty":                 {func(_ *testing.T, _, helper string) error { return os.Truncate(helper, 0) }, errOtherBuild},
		"cut off":               {func(_ *testing.T, _, helper string) error { return os.Truncate(helper, 60) }, errOtherBuild},
		"longer":                {func(_ *testing.T, _, helper string) error { return replace(helper, "small"+stamp(name, build)+" ") }, errOtherBuild},
		"writable for a group":  {func(_ *testing.T, _, helper string) error { return os.Chmod(helper, 0o775) }, errWritable},
		"writable for all":      {func(_ *testing.T, _, helper string) error { return os.Chmod(helper, 0o757) }, errWritable},
		"not executable":        {func(_ *testing.T, _, helper string) error { return os.Chmod(helper, 0o644) }, errNotRegular},
		"executable for a few":  {func(_ *testing.T, _, helper string) error { return os.Chmod(helper, 0o750) }, errNotRegular},
		"with another's rights": {func(_ *testing.T, _, helper string) error { return os.Chmod(helper, 0o755|fs.ModeSetuid) }, errNotRegular},
		"a link": {func(_ *testing.T, _, helper string) error {
			if err := os.Rename(helper, helper+".real"); err != nil {
				return err
			}
			return os.Symlink(helper+".real", helper)
		}, unix.ELOOP},
		"a FIFO": {func(_ *testing.T, _, helper string) error {
			return errors.Join(os.Remove(helper), unix.Mkfifo(helper, 0o755))
		}, errNotRegular},
		"a directory": {func(_ *testing.T, _, helper string) error {
			return errors.Join(os.Remove(helper), os.Mkdir(helper, 0o755))
		}, errNotRegular},
		"on a mount with noexec": {func(t *testing.T, _, helper string) error {
			if os.Geteuid() != 0 {
				t.Skip("only root mounts here")
			}
			mount, err := mountfd.Open(helper, unix.MOUNT_ATTR_NOEXEC)
			if err != nil {
				return err
			}
			defer mount.Close()
			t.Cleanup(func() { _ = unix.Unmount(helper, unix.MNT_DETACH) })
			return mountfd.Attach(mount, helper)
		}, unix.EACCES},
		"somebody else's": {func(t *testing.T, link, helper string) error {
			if os.Geteuid() != 0 {
				t.Skip("it takes root to give a file away")
			}
			own, err := filepath.EvalSymlinks(link)
			if err != nil {
				return err
			}
			return errors.Join(os.Chown(own, 1000, 1000), os.Chown(helper, 1001, 1000))
		}, errWritable},
	} {
		t.Run(title, func(t *testing.T) {
			link, helper := programs(t, build)
			if err := c.harm(t, link, helper); err != nil {
				t.Fatal(err)
			}
			file, err := Open(link, name, build, last)
			if file != nil || !errors.Is(err, c.want) {
				t.Errorf("%v, %v, want %v", file, err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), helper) {
				t.Errorf("%v does not name %s", err, helper)
			}
		})
	}
}

// TestOpenTakes what root has installed, and what those may write who may write the other program.
func TestOpenTakes(t *testing.T) {
	build := strings.Repeat("0a", 32)
	link, helper := programs(t, build)
	own, err := filepath.EvalSymlinks(link)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(own, 0o775), os.Chmod(helper, 0o775)); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(own, 1000, -1); err != nil {
			t.Fatal(err)
		}
	}
	file, err := Open(link, name, build, last)
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
}

func replace(path, content string) error { return os.WriteFile(path, []byte(content), 0o755) }
