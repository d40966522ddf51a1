package e2e

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"regexp"
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
	diskFull    faultKind = "full disk"      // ENOSPC for this and all later ones that need space
	isKilled    faultKind = "killed"         // SIGKILL for the process, before the call
	failsWith   faultKind = "fails with"     // an errno of the fault's own, once

	// The file system of the root fails and that of the work does not.
	rootFails    faultKind = "root fails"     // EIO for this and all after it
	rootReadOnly faultKind = "root read-only" // EROFS for this and all after it that change something
)

// onRoot reports whether the fault is one of only the root's file system.
func (k faultKind) onRoot() bool { return k == rootFails || k == rootReadOnly }

// lasts reports whether all that follows fails as well.
func (k faultKind) lasts() bool { return k == failsOn || k == diskFull || k.onRoot() }

// errno is what a call fails with.
func (f fault) errno() unix.Errno {
	switch f.kind {
	case failsWith:
		return f.with
	case diskFull:
		return unix.ENOSPC
	case rootReadOnly:
		return unix.EROFS
	default:
		return unix.EIO
	}
}

// fault is a kind and the point at which it begins.
type fault struct {
	kind  faultKind
	nth   int            // of the points that count, from 1
	at    *regexp.Regexp // those whose name it matches; nil: any
	after bool           // at the next point of the same process: when the one that counts has been passed
	ended bool           // only points after the last act of the analysis count
	with  unix.Errno     // of failsWith
	dir   string         // a file or directory whose calls are points too; empty: none
}

// name is short.
func (f fault) name() string {
	if f.at == nil {
		return strconv.Itoa(f.nth)
	}
	return strings.Trim(f.at.String(), "^$") + " " + strconv.Itoa(f.nth)
}

func (f fault) String() string {
	if f.after {
		return string(f.kind) + " after " + f.name()
	}
	return string(f.kind) + " at " + f.name()
}

// observed is a command that is watched, and disturbed by one fault.
type observed struct {
	fault fault
	id    string // of the run
	root  string

	roles  map[int]string // by process
	points []string       // all points so far, in order
	seen   int            // of the points that the fault counts
	passed string         // the process that has come to the last of them, for a fault after it
	hit    string         // the point at which the fault began
	ended  bool           // the analysis has done its last act
	before int            // how many points came before that
	proven bool           // the launcher has recorded that the analysis has ended
	out    outcome
}

// disturb runs scidex-oci with one fault.
func (h *harness) disturb(f fault, id string, args ...string) *observed {
	h.t.Helper()
	o := &observed{fault: f, id: id, root: h.root, roles: map[int]string{}}
	o.out = h.listen(underListener, h.command(theHost.bin, args...), o.judge)
	o.awaitEnd(h)
	return o
}

// awaitEnd waits until the supervisor of a killed launcher, which is now this process's child, has closed its files: a
// dying process releases its filter before them. It reaps the process, since thousands of zombies make every read of
// /proc slow.
func (o *observed) awaitEnd(h *harness) {
	h.t.Helper()
	for pid, role := range o.roles {
		until(h.t, hangTimeout, "the supervisor ends", func() bool {
			p, alive := readProcess(filepath.Join("/proc", strconv.Itoa(pid)))
			return !alive || p.parent != os.Getpid()
		})
		if role == "supervisor" {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // there is none of a launcher that lived to wait for it
		}
	}
}

// judge answers one notification: it counts the points and injects the fault.
func (o *observed) judge(n notification) *answer {
	goOn := &answer{Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	call := fileCalls[uintptr(n.Nr)]
	if call.name == "kill" {
		if !o.ended && n.Args[0] == endOfAnalysis {
			o.ended, o.before = true, len(o.points)
		}
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
	if o.counts(call, n, file) && o.strikes(role, point) {
		o.hit = cmp.Or(o.hit, point)
		if o.fault.kind == isKilled {
			_ = unix.Kill(pid, unix.SIGKILL) // it waits for this process: the pid is its own
			return nil
		}
		return &answer{Error: -int32(o.fault.errno())}
	}
	if o.ended && point == "launcher pwrite64 runs/ID@1.json" {
		o.proven = true
	}
	return goOn
}

// counts reports whether the fault is of the kind that can hit the call.
func (o *observed) counts(call fileCall, n notification, file string) bool {
	switch o.fault.kind {
	case undisturbed:
		return false
	case diskFull:
		return call.refusedByFullDisk(n)
	case rootFails:
		return o.onRoot(file)
	case rootReadOnly:
		return o.onRoot(file) && call.refusedByReadOnly(n)
	default:
		return true
	}
}

// strikes reports whether the fault hits this point.
func (o *observed) strikes(role, point string) bool {
	switch {
	case o.hit != "":
		return o.fault.kind.lasts()
	case o.fault.ended && !o.ended:
		return false
	case o.passed != "":
		return o.passed == role
	case o.fault.at != nil && !o.fault.at.MatchString(point):
		return false
	}
	if o.seen++; o.seen != o.fault.nth {
		return false
	}
	if o.fault.after {
		o.passed = role
	}
	return !o.fault.after
}

// concerns reports whether a file is of the store, the catalog, the run's own, or of the fault's directory.
func (o *observed) concerns(file string) bool {
	if dir := o.fault.dir; dir != "" && (file == dir || strings.HasPrefix(file, dir+"/")) {
		return true
	}
	return o.onRoot(file) || strings.HasPrefix(file, "/tmp/scidex-analysis-"+o.id)
}

// onRoot reports whether a file is on the file system of the root.
func (o *observed) onRoot(file string) bool {
	return file == o.root || strings.HasPrefix(file, o.root+"/")
}

// role distinguishes launcher and supervisor, whose notifications are points, from the container. It takes a thread.
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
