package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// newPrefix begins the ids of one test, so that tests which run at once find only their own traces.
func newPrefix() string {
	var random [5]byte
	_, _ = rand.Read(random[:]) // never fails
	return "e2e-" + hex.EncodeToString(random[:])
}

// leftovers looks for everything that a run whose id begins with prefix, or that the root has a record of, may have
// left on the host. Processes get a moment to vanish: a test may have killed their launcher.
func leftovers(prefix, root string) []string {
	left := eventually(func() []string { return append(processesOf(prefix), lostSupervisors()...) })
	left = append(left, matches("/tmp/scidex-analysis-"+prefix+"*")...)
	left = append(left, groupsOf(prefix)...)
	left = append(left, mountsOf(prefix)...)
	// State files of runs and ingest directories exist only while a run is alive.
	left = append(left, matches(filepath.Join(root, "runs", "*"))...)
	return append(left, matches(filepath.Join(root, "blobs", "ingest", "*"))...)
}

func matches(pattern string) []string {
	list, _ := filepath.Glob(pattern) // the patterns are well-formed
	return list
}

// eventually waits until find finds nothing, at most for twenty seconds, and returns what it found last.
func eventually(find func() []string) []string {
	for deadline := time.Now().Add(hangTimeout); ; time.Sleep(20 * time.Millisecond) {
		found := find()
		if len(found) == 0 || time.Now().After(deadline) {
			return found
		}
	}
}

// processesOf finds the processes of analyses by the variable that every one of them has. An ordinary user cannot read
// that of an id of the range: then lostSupervisors must be enough.
func processesOf(prefix string) []string {
	return processes(func(p process) bool {
		return bytes.Contains(p.environ, []byte("SCIDEX_ANALYSIS_ID="+prefix))
	})
}

// lostSupervisors finds the supervisors of all tests that outlived their launcher: they are then children of this
// process. Without its supervisor, PID 1 of a namespace, no process of a run lives (pid_namespaces(7)).
func lostSupervisors() []string {
	return processes(func(p process) bool {
		return p.parent == os.Getpid() && bytes.HasPrefix(p.command, []byte("scidex-oci: "))
	})
}

// orphans finds whatever outlived its parent: a descendant of this process that loses its parent becomes
// its child.
func orphans() []string {
	return processes(func(p process) bool { return p.parent == os.Getpid() })
}

// process is what /proc has of a process that is not dead.
type process struct {
	pid, parent      int
	command, environ []byte
}

func processes(wanted func(process) bool) []string {
	var found []string
	for _, dir := range matches("/proc/[0-9]*") {
		p, ok := readProcess(dir)
		if ok && wanted(p) {
			found = append(found, fmt.Sprintf("process %d: %q", p.pid, p.command))
		}
	}
	return found
}

// readProcess reads /proc/PID/stat (proc_pid_stat(5)); the command in it may hold spaces and brackets.
func readProcess(dir string) (p process, ok bool) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	end := bytes.LastIndexByte(stat, ')')
	if err != nil || end < 0 {
		return p, false
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 2 {
		return p, false
	}
	dead := strings.ContainsAny(fields[0], "ZX")
	if dead && len(matches(dir+"/task/*")) <= 1 { // else its first thread is, and another one has its files yet
		return p, false
	}
	p.pid, _ = strconv.Atoi(filepath.Base(dir))
	p.parent, _ = strconv.Atoi(fields[1])
	p.command, _ = os.ReadFile(filepath.Join(dir, "cmdline"))
	p.environ, _ = os.ReadFile(filepath.Join(dir, "environ")) // another user's cannot be read
	return p, true
}

// groupsOf finds control groups of runs, in every hierarchy and however deep.
func groupsOf(prefix string) []string {
	var found []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		// An error means a directory that vanished, or one of another user.
		if err == nil && entry.IsDir() && strings.HasPrefix(entry.Name(), "scidex-oci-"+prefix) {
			found = append(found, path)
		}
		return nil
	})
	return found
}

func mountsOf(prefix string) []string {
	var found []string
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return []string{err.Error()}
	}
	for line := range strings.Lines(string(table)) {
		if strings.Contains(line, prefix) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}
