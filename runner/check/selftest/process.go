package selftest

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// self is the key of the canary's own number among processes.
const self = "self"

// listProcesses lists the processes that /proc shows, by their number.
func listProcesses() outcome {
	found := outcome{Got: map[string]string{self: strconv.Itoa(os.Getpid())}}
	for _, pid := range pids() {
		name, err := os.ReadFile(filepath.Join("/proc", pid, "comm"))
		if err != nil {
			name = []byte(word(err))
		}
		found.list(pid, strings.ToValidUTF8(strings.TrimSpace(string(name)), "?"))
	}
	return found
}

func pids() []string {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil {
			found = append(found, e.Name())
		}
	}
	return found
}

// findProcess looks for a process with the text among its arguments.
func findProcess(text string) error {
	for _, pid := range pids() {
		arguments, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		if err == nil && bytes.Contains(arguments, []byte(text)) {
			return nil
		}
	}
	return unix.ENOENT
}

// isOwn is what signalTo says of a number that is the canary's own, or its init's.
const isOwn = "own"

// signalTo tries whether a process can be signaled (kill(2), signal 0).
func signalTo(pid string) string {
	number, err := strconv.Atoi(pid)
	if err != nil || number <= 0 {
		return "error"
	}
	if _, err := os.Stat(filepath.Join("/proc/self/task", pid)); err == nil || number == 1 {
		return isOwn
	}
	return word(unix.Kill(number, 0))
}

// status reads what the kernel says of this process (proc_pid_status(5)).
func status() outcome {
	found := outcome{Got: map[string]string{}}
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return step("read", err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Groups", "Uid", "Gid":
			found.Got[name] = strings.Join(strings.Fields(value), " ")
		}
	}
	return found
}

// openDescriptors lists the descriptors that this process was given: one that came through execve(2) is not marked to be closed
// by it, and all that Go and the packages of this program open themselves are.
func openDescriptors() outcome {
	found := outcome{Got: map[string]string{}}
	fd, err := unix.Open("/proc/self/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return step("open", err)
	}
	defer unix.Close(fd)
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil {
			return step("read", err)
		}
		if n <= 0 {
			return found
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if given(name) {
				target, _ := os.Readlink("/proc/self/fd/" + name) // a name for the reader; the number counts
				found.list(name, target)
			}
		}
	}
}

func given(descriptor string) bool {
	fd, err := strconv.Atoi(descriptor)
	if err != nil {
		return false // "." and ".."
	}
	marks, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err != nil || marks&unix.FD_CLOEXEC == 0
}

// environment lists the names of the variables, and marks those whose value holds the text.
func environment(text string) outcome {
	found := outcome{Got: map[string]string{}}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		said := ""
		if strings.Contains(value, text) {
			said = succeeded
		}
		found.list(name, said)
	}
	return found
}

// privileges tries what only a privileged process may, on a thread that ends with it: one that has left
// its namespaces is none for others.
func privileges() (found outcome) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(done)
		found = outcome{Got: map[string]string{
			"unshare user":    word(unix.Unshare(unix.CLONE_NEWUSER)),
			"unshare mount":   word(unix.Unshare(unix.CLONE_NEWNS)),
			"unshare network": word(unix.Unshare(unix.CLONE_NEWNET)),
			// Of no kind that there is: who may mount is told so (ENODEV), and nothing is mounted.
			"mount": word(unix.Mount("none", "/", "scidex-none", 0, "")),
		}}
	}()
	<-done
	return found
}

// families are kinds of sockets that no analysis needs and through which kernels and hypervisors listen.
var families = map[string]int{
	"netlink": unix.AF_NETLINK, "packet": unix.AF_PACKET, "vsock": unix.AF_VSOCK, "alg": unix.AF_ALG,
	"bluetooth": unix.AF_BLUETOOTH, "xdp": unix.AF_XDP,
}

// openFamilies tries to make a socket of each of the families.
func openFamilies() outcome {
	found := outcome{Got: map[string]string{}}
	for name, family := range families {
		fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Close(fd)
		}
		found.Got[name] = word(err)
	}
	return found
}

// text is what a file of the kernel says in one line.
func text(path string) outcome {
	said, err := os.ReadFile(path)
	if err != nil {
		return step("read", err)
	}
	return outcome{Got: map[string]string{"text": strings.TrimSpace(string(said))}}
}
