package e2e

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// walk prints all that is visible, but for what is in /usr and the kernel's /proc and /dev: kind, path, and the target
// of a link. It marks private keys, and files that cannot be read.
const walk = `
import os, re, stat
def show(path):
    info = os.lstat(path)
    if stat.S_ISLNK(info.st_mode):
        print("link", path, os.readlink(path))
    elif stat.S_ISDIR(info.st_mode):
        print("dir", path)
        if path not in ("/usr", "/proc", "/dev"):
            for name in sorted(os.listdir(path)):
                show(os.path.join(path, name))
    else:
        print("file" if stat.S_ISREG(info.st_mode) else "special", path)
        with open(path, "rb") as f:
            if re.search(b"(?m)^-----BEGIN [A-Z ]*PRIVATE " + b"KEY-----$", f.read()):
                print("key", path)
show("/")
for name in ("/etc/shadow", "/etc/ssl/private", "/usr/lib/ssl/private", "/etc/ssh", "/etc/machine-id", "/root", "/srv", "/run/dbus", "/var/lib/dpkg"):
    if os.path.exists(name):
        print("exists", name)
`

// madeVisible is what every run has in addition to the host's parts of /etc and /var/lib, in the order of walk.
var madeVisible = []string{
	"dir /", "dir /analysis", "file /analysis/walk.py", "dir /data", "dir /dev", "dir /docs", "dir /etc",
	"file /etc/gitconfig", "file /etc/group", "file /etc/hostname", "file /etc/hosts", "file /etc/nsswitch.conf", "file /etc/passwd", "file /etc/resolv.conf", "file /etc/scidex-matplotlibrc",
	"dir /etc/ssl", "file /etc/timezone",
	"dir /home", "dir /home/analysis", "dir /inputs", "dir /proc", "dir /run",
	"dir /sys", "dir /sys/fs", "dir /sys/fs/cgroup", "file /sys/fs/cgroup/cgroup.controllers", "link /sys/fs/cgroup/cpu cpu,cpuacct",
	"dir /sys/fs/cgroup/cpu,cpuacct", "file /sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "file /sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us",
	"file /sys/fs/cgroup/cpu.max", "dir /sys/fs/cgroup/memory", "file /sys/fs/cgroup/memory.high", "file /sys/fs/cgroup/memory.max",
	"file /sys/fs/cgroup/memory/memory.limit_in_bytes", "file /sys/fs/cgroup/memory/memory.soft_limit_in_bytes",
	"dir /tmp", "dir /usr", "dir /var", "link /var/tmp /tmp", "dir /work",
}

// hostVisible are the parts of the host's /etc and /var/lib that are shown if it has them. That Debian's own R and
// matplotlib run on them is for TestScience (test_model.R, test_plots.R, test_matplotlib.py).
var hostVisible = []string{
	"/etc/ImageMagick-*", "/etc/OpenCL", "/etc/R", "/etc/alternatives", "/etc/fastqc", "/etc/fonts", "/etc/java-*-openjdk", "/etc/ld.so.cache",
	"/etc/localtime", "/etc/matplotlibrc", "/etc/mecabrc", "/etc/ocamlfind.conf", "/etc/python3*", "/etc/racket", "/etc/ssl/certs", "/etc/texmf",
	"/var/lib/aspell", "/var/lib/ghc", "/var/lib/mecab", "/var/lib/texmf",
}

// TestHostVisible walks through all that an analysis sees of this host, and allows what is on a short list.
func TestHostVisible(t *testing.T) {
	h := newHarness(t)
	h.write("walk.py", walk, 0o644)
	r := h.start("--id", h.newID(), "--script", "walk.py")
	r.expect(t, "complete", "exit", 0)
	seen := map[string]bool{}
	for lines := bufio.NewScanner(strings.NewReader(h.stdoutOf(r))); lines.Scan(); {
		kind, path, _ := strings.Cut(lines.Text(), " ")
		path, _, _ = strings.Cut(path, " ")
		seen[lines.Text()] = true
		switch {
		case slices.Contains(madeVisible, lines.Text()):
		case kind == "link" && isUsrLink(path), lines.Text() == "dir /var/lib":
		case kind != "key" && kind != "special" && kind != "exists" && hostHas(path):
		default:
			t.Errorf("the analysis sees %s", lines.Text())
		}
	}
	for _, line := range madeVisible {
		if !seen[line] {
			t.Errorf("the analysis does not see %s", line)
		}
	}
	for _, pattern := range hostVisible {
		for _, path := range matches(pattern) {
			info, err := os.Stat(path)
			if err != nil || strings.HasPrefix(pattern, "/etc/python3") && !info.IsDir() {
				continue
			}
			if !seen["dir "+path] && !seen["file "+path] && path != "/etc/localtime" {
				t.Errorf("the analysis does not see %s", path)
			}
		}
	}
}

// isUsrLink reports whether a path is one of the links next to a merged /usr, outside too.
func isUsrLink(path string) bool {
	_, err := os.Readlink(path)
	return err == nil && slices.Contains([]string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}, path)
}

// hostHas reports whether a path is, or lies in, one of the parts of the host that may be shown.
func hostHas(path string) bool {
	for _, pattern := range hostVisible {
		for at := path; at != "/"; at = filepath.Dir(at) {
			if ok, _ := filepath.Match(pattern, at); ok { // the patterns are well-formed
				return true
			}
		}
	}
	return false
}
