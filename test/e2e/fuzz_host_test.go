package e2e

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// hostWatch is what no analysis may change: files and settings of the host, and whether its kernel is well.
type hostWatch struct {
	dirs     []string
	settings string // the directory of sysctls
	packages string // when they were changed
	before   map[string]string
	log      int // of the kernel; -1 for who may not read it
}

// watchHost notes the host as it is.
func (h *harness) watchHost() *hostWatch {
	h.t.Helper()
	return newHostWatch(h.t, []string{"/etc", "/usr/bin", "/usr/sbin"}, "/proc/sys")
}

func newHostWatch(t *testing.T, dirs []string, settings string) *hostWatch {
	t.Helper()
	w := &hostWatch{dirs: dirs, settings: settings, packages: packagesState(), log: openLog(t)}
	w.before = w.state(t)
	return w
}

// compare reports what has changed since, and every fault that the kernel has logged.
func (w *hostWatch) compare(t *testing.T) {
	t.Helper()
	for _, change := range w.changes(t) {
		if !strings.Contains(change, plantedWord) {
			t.Error(change)
		}
	}
}

// plantedWord is what a test has written into the kernel's log.
const plantedWord = "planted by a test of scidex-oci"

func (w *hostWatch) changes(t *testing.T) []string {
	t.Helper()
	found, packages := faults(w.log), packagesState() // before the files: what dpkg does after that is seen the next time
	after := w.state(t)
	if packages != w.packages {
		t.Log("packages of the host were installed meanwhile: its files are noted anew")
		w.packages, w.before = packages, after
	}
	if !maps.Equal(w.before, after) {
		found = append(found, strings.Split(changes(w.before, after), "\n")...)
	}
	return found
}

// packagesState changes while dpkg installs, before it touches a file of a package.
func packagesState() (state string) {
	for _, dir := range []string{"/var/lib/dpkg", "/var/lib/dpkg/updates", "/var/lib/dpkg/info"} {
		if info, err := os.Stat(dir); err == nil {
			state += fmt.Sprint(info.Sys().(*syscall.Stat_t).Ctim)
		}
	}
	return state
}

func (w *hostWatch) state(t *testing.T) map[string]string {
	t.Helper()
	state := map[string]string{}
	for _, dir := range w.dirs {
		w.walk(t, dir, func(path string, info fs.FileInfo) { state[path] = describeFile(path, info) })
	}
	w.walk(t, w.settings, func(path string, info fs.FileInfo) {
		if text, ok := setting(path, info); ok {
			state[path] = text
		}
	})
	state["/proc/sys/kernel/tainted"] = readFile(t, "/proc/sys/kernel/tainted")
	return state
}

// walk skips directories that this user may not read, and files that other tests write at the same time.
func (w *hostWatch) walk(t *testing.T, dir string, visit func(string, fs.FileInfo)) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info fs.FileInfo, err error) error {
		if err == nil && !info.IsDir() && !changesByItself.MatchString(path) {
			visit(path, info)
		}
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// changesByItself are copies and locks of the accounts' files, the canaries of TestAttacks, settings that the kernel counts in, those
// of network interfaces, and forwarding, which podman turns on for a bridge.
var changesByItself = regexp.MustCompile(`^/etc/(passwd|group|shadow|gshadow|subuid|subgid)[-+]$|^/etc/.*\.lock$|^/etc/e2e-[0-9a-f]{10}-|` +
	`^/proc/sys/kernel/(ns_last_pid|perf_event_max_sample_rate)$|^/proc/sys/net/ipv./(conf/.*|neigh/.*|ip_forward)$`)

// accounts are files to which other tiers add users at the same time, sdx-NAME.
var accounts = regexp.MustCompile(`^/etc/(passwd|group|shadow|gshadow|subuid|subgid)$`)

var testUsers = regexp.MustCompile(`(?m)^sdx-.*\n`)

// describeFile has the change time, which every write sets and no call can set back, and of /etc the content too.
func describeFile(path string, info fs.FileInfo) string {
	st := info.Sys().(*syscall.Stat_t)
	if accounts.MatchString(path) {
		content, _ := os.ReadFile(path) // what cannot be read is left out
		return fmt.Sprintf("%v %d %d %x", info.Mode(), st.Uid, st.Gid, sha256.Sum256(testUsers.ReplaceAll(content, nil)))
	}
	text := fmt.Sprint(info.Mode(), st.Uid, st.Gid, st.Ino, st.Size, st.Mtim, st.Ctim)
	if info.Mode().IsRegular() && !strings.HasPrefix(path, "/usr/") {
		content, _ := os.ReadFile(path) // what cannot be read has its times
		text += fmt.Sprintf(" %x", sha256.Sum256(content))
	}
	return text
}

// setting reads a file of /proc/sys that could be written.
func setting(path string, info fs.FileInfo) (string, bool) {
	if info.Mode()&0o222 == 0 || info.Mode()&0o444 == 0 {
		return "", false
	}
	text, err := os.ReadFile(path)
	return string(text), err == nil
}

// openLog opens /dev/kmsg at its end.
func openLog(t *testing.T) int {
	t.Helper()
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil && !theHost.root {
		return -1 // tainted has to do, which a warning and an oops set
	}
	if err == nil {
		_, err = unix.Seek(fd, 0, unix.SEEK_END)
	}
	if err != nil {
		t.Fatalf("the kernel's log: %v", err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// aFault begins the kernel's messages about its own faults. Those about programs begin otherwise ("traps: ").
var aFault = regexp.MustCompile(`BUG: |\bOops\b|WARNING: |Kernel panic|KASAN: |UBSAN: |refcount_t: |soft lockup|detected stall|self-detected stall|blocked for more than`)

// faults reads what the kernel has logged since the last time.
func faults(log int) (found []string) {
	record := make([]byte, 8192) // one for each read
	for log >= 0 {
		n, err := unix.Read(log, record)
		switch {
		case errors.Is(err, unix.EPIPE): // records were overwritten; the next read goes on behind them
		case err != nil:
			return found
		case aFault.Match(record[:n]):
			found = append(found, "the kernel said: "+strings.TrimSpace(string(record[:n])))
		}
	}
	return nil
}

// pidNamespaces are those of a run's processes, by what their links say.
type pidNamespaces []string

// namespaces are the PID namespaces of the run's processes that are not this process's own.
func (l *launch) namespaces() pidNamespaces {
	l.h.t.Helper()
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		l.h.t.Fatal(err)
	}
	var found pidNamespaces
	for _, w := range l.family() {
		if name := pidNamespace(w.pid); name != "" && name != own {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		l.h.t.Errorf("no process of the run has a PID namespace that can be seen: %s", l.said.String())
	}
	return found
}

func (all pidNamespaces) has(p process) bool { return slices.Contains(all, pidNamespace(p.pid)) }

// pidNamespace is "" for a process that has ended or may not be read.
func pidNamespace(pid int) string {
	name, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	return name
}

// TestWatchOfTheHost makes the changes that TestFuzzers looks for.
func TestWatchOfTheHost(t *testing.T) {
	dir := t.TempDir()
	file, sysctl := filepath.Join(dir, "files/kept"), filepath.Join(dir, "sys/kernel/panic")
	for _, path := range []string{file, sysctl} {
		writeBelow(t, path, "0\n")
	}
	w := newHostWatch(t, []string{filepath.Join(dir, "files")}, filepath.Join(dir, "sys"))
	if found := w.changes(t); len(found) > 0 {
		t.Fatalf("nothing was changed, and it found %q", found)
	}
	writeBelow(t, file, "1\n")
	writeBelow(t, sysctl, "1\n")
	planted := []string{file, sysctl}
	if w.log >= 0 {
		planted = append(planted, "WARNING: "+newPrefix())
		writeBelow(t, "/dev/kmsg", "<4>"+planted[2]+", "+plantedWord+"\n")
	}
	found := strings.Join(w.changes(t), "\n")
	for _, what := range planted {
		if !strings.Contains(found, what) {
			t.Errorf("%s was planted, and it found %q", what, found)
		}
	}
}

func writeBelow(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}
