package binds

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
)

// Identity identifies an open file on this host in three ways: by path, by the inodes above it and by its location in its file
// system. A symbolic link deceives none of them; what is mounted twice has two paths, but is one inode at one location of
// one file system.
type Identity struct {
	path  string     // as the kernel has it
	ids   []inode.ID // of the file, of its directory, and so on up to the root directory
	mount int        // the id of its mount in mountinfo
	at    location
	live  string // the directory of a living run on the way, or ""
}

// location is a path in a file system; the zero location is none.
type location struct {
	device inode.ID // major and minor number
	path   string   // from the root of the file system
}

func (l location) within(dir location) bool {
	return l.path != "" && l.device == dir.device && within(l.path, dir.path)
}

// within reports whether a clean path is dir or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// Path is the file's path from the kernel: absolute, without symbolic links.
func (t Identity) Path() string { return t.path }

// within reports whether dir is or holds the file.
func (t Identity) within(dir Identity) bool {
	return slices.Contains(t.ids, dir.ids[0]) || within(t.path, dir.path) || t.at.within(dir.at)
}

// extend appends a path that does not exist.
func (t *Identity) extend(rest string) {
	t.path = filepath.Join(t.path, rest)
	if t.at.path != "" {
		t.at.path = filepath.Join(t.at.path, rest)
	}
}

// identify follows an open file up to the root directory.
func identify(f *os.File, mounts []*mountinfo.Info) (t Identity, err error) {
	if t.path, err = os.Readlink(inode.ProcPath(f)); err != nil {
		return t, err
	}
	st, err := inode.Stat(int(f.Fd()), "")
	if err != nil {
		return t, err
	}
	if st.Nlink == 0 || !filepath.IsAbs(t.path) {
		return t, errGone
	}
	t.mount = int(st.Mnt_id)
	t.at = locate(t.path, t.mount, mounts)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return t, t.climb(f, t.path)
	}
	name := filepath.Base(t.path)
	dir, err := inode.Open(filepath.Dir(t.path))
	if err != nil {
		return t, inode.Plain(err)
	}
	defer dir.Close()
	if named, err := inode.Stat(int(dir.Fd()), name); err != nil || inode.Of(named) != inode.Of(st) {
		return t, errGone
	}
	t.ids = []inode.ID{inode.Of(st)}
	return t, t.climb(dir, filepath.Dir(t.path))
}

// locate makes a path into one within its file system.
func locate(path string, mount int, mounts []*mountinfo.Info) location {
	for _, m := range mounts {
		if m.ID == mount && within(path, m.Mountpoint) {
			return location{
				device: inode.ID{Dev: uint64(m.Major), Ino: uint64(m.Minor)},
				path:   filepath.Join(m.Root, strings.TrimPrefix(path, m.Mountpoint)),
			}
		}
	}
	return location{}
}

// climb walks from an open directory up to the root directory, one step per name of its path.
func (t *Identity) climb(dir *os.File, path string) error {
	at := int(dir.Fd())
	for {
		st, err := inode.Stat(at, "")
		if err != nil {
			return err
		}
		t.ids = append(t.ids, inode.Of(st))
		if strings.HasPrefix(filepath.Base(path), lockdir.RunPrefix) && lockdir.RunLocked(at) {
			t.live = path
		}
		if path == "/" {
			break
		}
		up, err := unix.Openat(at, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(up)
		at, path = up, filepath.Dir(path)
	}
	return t.reachesRoot()
}

// reachesRoot checks that the last inode is the root directory's: nothing was moved during the climb.
func (t *Identity) reachesRoot() error {
	root, err := inode.Stat(unix.AT_FDCWD, "/")
	if err == nil && inode.Of(root) != t.ids[len(t.ids)-1] {
		err = errGone
	}
	return err
}
