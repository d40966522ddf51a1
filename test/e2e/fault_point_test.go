package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// faultKind is what happens at a point.
type faultKind string

const (
	undisturbed faultKind = "undisturbed"
	failsOnce   faultKind = "fails once"     // with EIO
	failsOn     faultKind = "fails for good" // as do all after it
	diskFull    faultKind = "full disk"      // ENOSPC for this and all after it that ask for room
	isKilled    faultKind = "killed"         // SIGKILL for the process, before the call
)

// fault is a kind and where it begins: at the nth point of the kind, from 1, whose name has the text in it.
type fault struct {
	kind faultKind
	nth  int
	at   *regexp.Regexp // nil: any
}

func (f fault) String() string {
	if f.at != nil {
		return fmt.Sprintf("%s at %q %d", f.kind, f.at, f.nth)
	}
	return fmt.Sprintf("%s at %d", f.kind, f.nth)
}

// observed is a command that is watched, and disturbed by one fault.
type observed struct {
	fault fault
	id    string // of the run
	root  string

	roles  map[int]string // by process
	points []string       // what was asked for, in order
	seen   int            // of the points that the fault counts
	hit    string         // where the fault began
	ended  bool           // the analysis has done its last act
	proven bool           // the launcher has recorded that the analysis has ended
	out    outcome
}

// disturb runs scidex-oci with one fault.
func (h *house) disturb(f fault, id string, args ...string) *observed {
	h.t.Helper()
	o := &observed{fault: f, id: id, root: h.root, roles: map[int]string{}}
	o.out = h.listen(h.command(theHost.bin, args...), o.judge)
	return o
}

// judge answers one notification: it counts the points and lets the fault come about.
func (o *observed) judge(n notification) *answer {
	goOn := &answer{Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	call := fileCalls[uintptr(n.Nr)]
	if call.name == "kill" {
		o.ended = o.ended || n.Args[0] == endOfAnalysis
		return goOn
	}
	file := call.file(n)
	if !o.concerns(file) {
		return goOn
	}
	pid, role := o.role(int(n.Pid))
	if role == "" {
		return goOn
	}
	point := role + " " + call.name + " " + o.anonymous(file)
	o.points = append(o.points, point)
	if o.strikes(call, n, point) {
		if o.fault.kind == isKilled {
			_ = unix.Kill(pid, unix.SIGKILL) // it waits for us: the pid is its own
			return nil
		}
		if o.fault.kind == diskFull {
			return &answer{Error: -int32(unix.ENOSPC)}
		}
		return &answer{Error: -int32(unix.EIO)}
	}
	if o.ended && point == "launcher pwrite64 runs/ID@1.json" {
		o.proven = true
	}
	return goOn
}

// strikes reports whether the fault is to hit the call.
func (o *observed) strikes(call fileCall, n notification, point string) bool {
	if o.fault.kind == undisturbed || o.fault.kind == diskFull && !call.refusedByFullDisk(n) {
		return false
	}
	if o.hit != "" && (o.fault.kind == failsOn || o.fault.kind == diskFull) {
		return true
	}
	if o.fault.at != nil && !o.fault.at.MatchString(point) {
		return false
	}
	if o.seen++; o.seen != o.fault.nth {
		return false
	}
	o.hit = point
	return true
}

// concerns reports whether a file is of the store, the catalog, or the run's own.
func (o *observed) concerns(file string) bool {
	return file == o.root || strings.HasPrefix(file, o.root+"/") || strings.HasPrefix(file, "/tmp/scidex-analysis-"+o.id)
}

// role tells launcher and supervisor, whose notifications are points, from the container. It takes a thread.
func (o *observed) role(thread int) (pid int, role string) {
	proc := filepath.Join("/proc", strconv.Itoa(thread))
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		return 0, ""
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "Tgid:"); ok {
			pid, _ = strconv.Atoi(strings.TrimSpace(text))
			break
		}
	}
	if role, ok := o.roles[pid]; ok {
		return pid, role
	}
	p, _ := readProcess(proc)
	switch {
	case bytes.HasPrefix(p.command, []byte("scidex-oci: supervisor")):
		role = "supervisor"
	case p.parent == os.Getpid():
		role = "launcher"
	default:
		return pid, ""
	}
	o.roles[pid] = role
	return pid, role
}

var (
	randomPart = regexp.MustCompile(`[A-Z2-7]{26}`)
	digestPart = regexp.MustCompile(`[0-9a-f]{64}`)
)

// anonymous is a file's name without what differs from one run to the next.
func (o *observed) anonymous(file string) string {
	file = strings.ReplaceAll(file, o.id, "ID")
	if file == o.root {
		return "."
	}
	file = strings.TrimPrefix(file, o.root+"/")
	return digestPart.ReplaceAllString(randomPart.ReplaceAllString(file, "RANDOM"), "DIGEST")
}

// has reports whether a point matches.
func (o *observed) has(step string) bool {
	return slices.ContainsFunc(o.points, regexp.MustCompile(step).MatchString)
}
