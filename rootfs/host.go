package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// usrDirs are top-level directories that a merged /usr turns into links; lib32 and libx32 are Debian's.
var usrDirs = [...]string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"}

// etcDirs are the parts of /etc that programs in /usr need and that hold nothing of the host's own:
// Debian finds BLAS through alternatives, and R and Python keep parts of themselves there.
var etcDirs = [...]string{"etc/alternatives", "etc/ssl/certs", "etc/fonts", "etc/R", "etc/python3*"}

// etcFiles are copied: a mount each would cost more.
var etcFiles = [...]string{"etc/ld.so.cache", "etc/matplotlibrc"}

// maxCopy bounds a copied file in bytes; the largest known ld.so.cache is a hundredth of it.
const maxCopy = 16 << 20

// Host plans a root filesystem that shows the programs of the host whose "/" is root: /usr, the
// directories or links beside it, and the few parts of /etc that programs need. Accounts, hosts and
// names are made up; nothing else of the host is in it. uid is what the user and group "analysis"
// have inside.
//
// The time zone is UTC whatever the host's, so that results repeat.
func Host(root string, uid uint32) (Tree, error) {
	tree := Tree{Dirs: mountPoints(), Files: madeUp(uid), Links: []Link{{"/var/tmp", "/tmp"}}}
	for _, add := range []func(*Tree, string) error{addUsr, addUsrDirs, addEtcDirs, addEtcFiles, addTimeZone} {
		if err := add(&tree, root); err != nil {
			return Tree{}, fmt.Errorf("root filesystem of the host: %w", err)
		}
	}
	return tree, nil
}

// mountPoints are the directories for what every run mounts, and empty ones that programs expect.
func mountPoints() []Dir {
	var dirs []Dir
	for _, p := range []string{
		"/analysis", "/data", "/dev", "/docs", "/etc", "/home", "/home/analysis", "/inputs", "/proc", "/run", "/sys",
		"/tmp", "/usr", "/var", "/work",
	} {
		dirs = append(dirs, Dir{Path: p, Mode: dirMode})
	}
	return dirs
}

func addUsr(tree *Tree, root string) error {
	source := filepath.Join(root, "usr")
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory", source)
	}
	tree.Binds = append(tree.Binds, Bind{Source: source, Destination: "/usr", IsDir: true})
	return nil
}

// addUsrDirs adds /bin and its like as the host has them: as the same link into /usr, else bound.
func addUsrDirs(tree *Tree, root string) error {
	for _, name := range usrDirs {
		source := filepath.Join(root, name)
		target, err := os.Readlink(source)
		if err == nil && leadsIntoUsr(target) {
			tree.Links = append(tree.Links, Link{Path: "/" + name, Target: target})
			continue
		}
		if err := addDir(tree, source, "/"+name); err != nil {
			return err
		}
	}
	return nil
}

func leadsIntoUsr(target string) bool {
	return strings.HasPrefix(path.Join("/", target), "/usr/")
}

func addEtcDirs(tree *Tree, root string) error {
	for _, pattern := range etcDirs {
		sources, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, source := range sources {
			inside, err := filepath.Rel(root, source)
			if err != nil {
				return err
			}
			if err := addDir(tree, source, "/"+inside); err != nil {
				return err
			}
		}
	}
	return nil
}

// addDir binds source if it is a directory; what is missing or no directory is passed over. The source
// is what a link leads to, as a bind follows it.
func addDir(tree *Tree, source, destination string) error {
	source, err := filepath.EvalSymlinks(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(source)
	if err != nil || !info.IsDir() {
		return err
	}
	tree.Binds = append(tree.Binds, Bind{Source: source, Destination: destination, IsDir: true})
	return nil
}

func addEtcFiles(tree *Tree, root string) error {
	for _, name := range etcFiles {
		source := filepath.Join(root, name)
		info, err := os.Stat(source)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() || info.Size() > maxCopy {
			return fmt.Errorf("%s is no regular file of at most %d bytes", source, maxCopy)
		}
		data, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		tree.Files = append(tree.Files, File{Path: "/" + name, Data: data, Mode: fileMode})
	}
	return nil
}

// utc is the zone of every run, whatever the host's, so that results repeat.
const utc = "/usr/share/zoneinfo/Etc/UTC"

// addTimeZone points the local time at UTC for programs that do not look at TZ. Without zone files the
// C library takes UTC by itself.
func addTimeZone(tree *Tree, root string) error {
	if _, err := os.Stat(filepath.Join(root, utc)); err == nil {
		tree.Links = append(tree.Links, Link{Path: "/etc/localtime", Target: utc})
	}
	return nil
}
