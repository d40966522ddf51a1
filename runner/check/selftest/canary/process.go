package canary

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/check"
)

// Self is the key of the canary's own PID among processes.
const Self = "self"

// listProcesses lists the processes in /proc by their PIDs.
func listProcesses() Outcome {
	found := Outcome{Got: map[string]string{Self: strconv.Itoa(os.Getpid())}}
	for _, pid := range pids() {
		name, err := os.ReadFile(filepath.Join("/proc", pid, "comm"))
		if err != nil {
			name = []byte(errorName(err))
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

// findProcess looks for a process with text in its arguments.
func findProcess(text string) error {
	for _, pid := range pids() {
		arguments, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		if err == nil && bytes.Contains(arguments, []byte(text)) {
			return nil
		}
	}
	return unix.ENOENT
}

// OwnPID is the result of signalTo for a PID that is the canary's own, or its init's.
const OwnPID = "own"

// signalTo checks whether a process can be signalled (kill(2), signal 0).
func signalTo(pid string) string {
	number, err := strconv.Atoi(pid)
	if err != nil || number <= 0 {
		return "error"
	}
	if _, err := os.Stat(filepath.Join("/proc/self/task", pid)); err == nil || number == 1 {
		return OwnPID
	}
	return errorName(unix.Kill(number, 0))
}

// status reads the privileges of this process from proc_pid_status(5).
func status() Outcome {
	found := Outcome{Got: map[string]string{}}
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

// openDescriptors lists the descriptors that this process inherited. Those do not have the flag FD_CLOEXEC, and all that Go
// and this program open have it.
func openDescriptors() Outcome {
	found := Outcome{Got: map[string]string{}}
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
			if inherited(name) {
				target, _ := os.Readlink("/proc/self/fd/" + name) // for the reader only
				found.list(name, target)
			}
		}
	}
}

func inherited(descriptor string) bool {
	fd, err := strconv.Atoi(descriptor)
	if err != nil {
		return false // "." and ".."
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err != nil || flags&unix.FD_CLOEXEC == 0
}

// environment lists the names of variables, with OK if the value contains text.
func environment(text string) Outcome {
	found := Outcome{Got: map[string]string{}}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		result := ""
		if strings.Contains(value, text) {
			result = OK
		}
		found.list(name, result)
	}
	return found
}

// privileges tries what only a privileged process may, on a thread that ends afterwards: it may have left its namespaces.
func privileges() (found Outcome) {
	check.InThread(func() {
		found = Outcome{Got: map[string]string{
			"unshare user":    errorName(unix.Unshare(unix.CLONE_NEWUSER)),
			"unshare mount":   errorName(unix.Unshare(unix.CLONE_NEWNS)),
			"unshare network": errorName(unix.Unshare(unix.CLONE_NEWNET)),
			// An unknown type: a process that may mount gets ENODEV, and nothing is mounted.
			"mount": errorName(unix.Mount("none", "/", "scidex-none", 0, "")),
		}}
	})
	return found
}

// Families are kinds of sockets that reach kernels and hypervisors and that no analysis needs.
var Families = map[string]int{
	"netlink": unix.AF_NETLINK, "packet": unix.AF_PACKET, "vsock": unix.AF_VSOCK, "alg": unix.AF_ALG,
	"bluetooth": unix.AF_BLUETOOTH, "xdp": unix.AF_XDP,
}

// openFamilies tries to make a socket of each family.
func openFamilies() Outcome {
	found := Outcome{Got: map[string]string{}}
	for name, family := range Families {
		fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Close(fd)
		}
		found.Got[name] = errorName(err)
	}
	return found
}

// kernelFile reads a file of the kernel with one line.
func kernelFile(path string) Outcome {
	text, err := os.ReadFile(path)
	if err != nil {
		return step("read", err)
	}
	return Outcome{Got: map[string]string{"text": strings.TrimSpace(string(text))}}
}
