package e2e

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// busybox is Debian's busybox-static: all of a small root filesystem in one file.
const busybox = "/bin/busybox"

// applets are what the trees have of it.
var applets = []string{"sh", "cat", "ls", "id", "env", "find", "grep", "hostname", "mkdir", "mount", "readlink", "sleep", "stat", "touch", "true"}

// tree makes a root filesystem: names that end with '/' are directories, values that begin with "->" are
// links, "busybox" is the program, others are files.
func (h *harness) tree(name string, entries map[string]string) string {
	h.t.Helper()
	root := h.path(name)
	for entry, value := range entries {
		path := filepath.Join(root, entry)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		target, link := strings.CutPrefix(value, "->")
		switch {
		case strings.HasSuffix(entry, "/"):
			err = errors.Join(err, os.MkdirAll(path, 0o755))
		case link:
			err = errors.Join(err, os.Symlink(target, path))
		case value == "busybox":
			err = errors.Join(err, copyFile(busybox, path))
		default:
			err = errors.Join(err, os.WriteFile(path, []byte(value), 0o644))
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
	return root
}

// alpine are the entries of a root filesystem without a merged /usr, with all applets in bin, and others.
func alpine(others map[string]string) map[string]string {
	return withApplets("bin", map[string]string{
		"bin/busybox": "busybox", "lib/ld-musl.so": "library", "sbin/": "", "usr/bin/": "", "usr/lib/": "", "root/": "",
		"etc/os-release": "NAME=image\n", "etc/passwd": "IMAGE:x:0:0::/:/bin/sh\n", "etc/group": "IMAGE:x:0:\n",
	}, others)
}

// withApplets adds links to the busybox that is in dir.
func withApplets(dir string, all ...map[string]string) map[string]string {
	entries := map[string]string{}
	for _, applet := range applets {
		entries[filepath.Join(dir, applet)] = "->busybox"
	}
	for _, more := range all {
		for name, value := range more {
			entries[name] = value
		}
	}
	return entries
}

func copyFile(source, target string) error {
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, data, info.Mode().Perm()|0o444))
}

// pythonTree makes a root filesystem of the host's Python, its standard library and the libraries that they
// need.
func (h *harness) pythonTree(name string) string {
	h.t.Helper()
	root := h.tree(name, withApplets("usr/bin", map[string]string{
		"usr/bin/busybox": "busybox", "bin": "->usr/bin", "lib": "->usr/lib", "lib64": "->usr/lib64", "usr/lib64/": "", "etc/": "",
	}))
	python, err := filepath.EvalSymlinks("/usr/bin/python3")
	if err != nil {
		h.t.Fatal(err)
	}
	library := "/usr/lib/" + filepath.Base(python)
	must := func(err error) {
		if err != nil {
			h.t.Fatal(err)
		}
	}
	must(copyFile(python, root+python))
	must(os.Symlink(filepath.Base(python), root+"/usr/bin/python3"))
	must(copyTree(library, root+library, "__pycache__", "test", "idlelib", "lib2to3", "ensurepip", "dist-packages"))
	modules, err := filepath.Glob(library + "/lib-dynload/*.so")
	must(err)
	for _, needed := range librariesOf(h.t, append(modules, python)) {
		must(copyFile(needed, root+needed))
	}
	return root
}

// copyTree copies files and directories except those of certain names; links are skipped.
func copyTree(source, target string, except ...string) error {
	return filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(except, d.Name()):
			return fs.SkipDir
		case d.Type().IsRegular():
			return copyFile(path, target+strings.TrimPrefix(path, source))
		}
		return nil
	})
}

var loaded = regexp.MustCompile(`(?:=> |^\t)(/\S+) \(0x`)

// librariesOf are the shared libraries of programs and libraries, the loader among them (ldd(1)).
func librariesOf(t *testing.T, programs []string) []string {
	t.Helper()
	out, err := exec.Command("ldd", programs...).Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if match := loaded.FindStringSubmatch(line); match != nil {
			found[match[1]] = true
		}
	}
	var list []string
	for path := range found {
		list = append(list, path)
	}
	return list
}

// mkfifo makes a FIFO that everybody may open.
func mkfifo(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(unix.Mkfifo(path, 0o666), os.Chmod(path, 0o666)); err != nil {
		t.Fatal(err)
	}
}
