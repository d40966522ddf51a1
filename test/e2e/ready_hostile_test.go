package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/landlock"
)

// Why a start is cold.
const (
	coldEnded = "cold: the interpreter ended before it had imported the modules"
	coldShut  = "cold: an import closed a descriptor that is not its own"
	coldLate  = "cold: the imports took longer than a minute"
	coldKept  = "cold: an import keeps a copy of standard output or standard error"
)

// done is what every script prints in the end: it ran once, as the only process next to the init. doneBeside is the
// same with a process that an import has left.
const done, doneBeside = "complete, exit, 0: ran 1 time beside 1\n", "complete, exit, 0: ran 1 time beside 2\n"

// hostileModule is how one of testdata/hostile ends.
type hostileModule struct {
	outside func(*uncontained) bool // whether the control shows that it does something
	start   string                  // of a run that was to be ready
	end     string
	outputs string // in addition to that of the script, with their sizes
}

var hostileModules = map[string]hostileModule{
	"forges":                   {outside: noted("forged"), start: "ready forged 6.6.6", end: done},
	"forges_and_ends":          {outside: noted("forged"), start: "ready forged 6.6.6", end: "failed, exit, 3: "},
	"forges_and_raises":        {outside: noted("forged"), start: "ready forged 6.6.6", end: "failed, exit, 1: "},
	"forges_and_stays":         {outside: noted("forged"), start: "ready forged 6.6.6", end: "failed, timeout, 124: "},
	"forges_and_stops":         {outside: isStopped, start: "ready forged 6.6.6", end: "failed, timeout, 124: "},
	"floods":                   {outside: notesMuch, start: coldEnded, end: done},
	"floods_ready":             {outside: notesMuch, start: "ready forged 6.6.6", end: "failed, timeout, 124: "},
	"closes_note":              {outside: said("[5]"), start: coldEnded, end: done},
	"closes_gate":              {outside: said("[4]"), start: coldShut, end: done},
	"closes_all":               {outside: said("[]"), start: coldEnded, end: done},
	"takes_note":               {outside: said("[4, 5]"), start: coldEnded, end: done, outputs: "own 0 "},
	"reads_gate":               {outside: gateIsRead, start: "ready forged 6.6.6", end: "failed, exit, 1: "},
	"keeps_gate":               {outside: leavesAProcess, start: coldKept, end: done},
	"reports":                  {outside: reports, start: "ready", end: done},
	"kills_parent":             {outside: parentIsKilled, start: killedInit(), end: done},
	"ends":                     {outside: said("survived"), start: coldEnded, end: done},
	"exits":                    {outside: said("survived"), start: "cold: SystemExit: 0", end: done},
	"leaves_a_writer":          {outside: writesOn, start: "ready", end: doneBeside, outputs: "early 6 "},
	"leaves_a_writer_and_ends": {outside: writesOn, start: coldEnded, end: done, outputs: "early 6 "},
}

// killedInit is the start of a script whose module signals init: Landlock refuses that from version 6 on, init ignores it before.
func killedInit() string {
	if landlock.Version() >= 6 {
		return "cold: PermissionError: [Errno 1] Operation not permitted"
	}
	return "ready"
}

// lateModules take the full minute that imports may take; the tests of runner/sandbox use a shorter time.
var lateModules = map[string]hostileModule{
	"stays":           {outside: saysItStays, start: coldLate, end: done, outputs: "stays 0 "},
	"stops":           {outside: isStopped, start: coldLate, end: done},
	"leaves_the_note": {outside: leavesAProcess, start: coldLate, end: done},
}

// TestReadyHostile imports modules before a script's turn that harm the interpreter.
func TestReadyHostile(t *testing.T) {
	newHarness(t).importHostile(hostileModules)
	found := len(matches("testdata/hostile/*.py")) - 1
	if all := len(hostileModules) + len(lateModules); found != all {
		t.Errorf("testdata/hostile has %d modules, the tables %d", found, all)
	}
}

// TestReadyHostileLate is the same for those that do not end.
func TestReadyHostileLate(t *testing.T) {
	if !inSoak() {
		t.Skip("the imports of a run have a minute; TestPrepareLate gives them less")
	}
	newHarness(t).importHostile(lateModules)
}

func (h *harness) importHostile(modules map[string]hostileModule) {
	h.t.Helper()
	for name, m := range modules {
		h.importOutside(name, m.outside)
	}
	ids := map[string]string{}
	got, _ := h.batch(h.hostileLines(modules, ids))
	for name, m := range modules {
		r := got[ids[name]]
		if start := startOf(r); start != m.start {
			h.t.Errorf("%s: the start was %q, want %q", name, start, m.start)
		}
		if end := fmt.Sprintf("%s, %s, %d: %s", r.State, r.Reason, r.ExitCode, h.stdoutOf(r)); end != m.end {
			h.t.Errorf("%s: it ended with %q, want %q\n%s", name, end, m.end, h.stderrOf(r))
		}
		outputs := ""
		for _, out := range r.Outputs {
			if out.Path != "ran" {
				outputs += fmt.Sprintf("%s %d ", out.Path, out.Size)
			}
		}
		if outputs != m.outputs {
			h.t.Errorf("%s: its outputs are %q, want %q", name, outputs, m.outputs)
		}
		if left := leftovers(ids[name], h.root); len(left) > 0 {
			h.t.Errorf("%s has left: %q", name, left)
		}
	}
}

// countsItself prints how often it ran in this directory, and how many processes it saw.
const countsItself = `import glob
with open("ran", "a+") as f:
    print("x", file=f, end="", flush=True)
    print("ran", f.tell(), "time beside", len(glob.glob("/proc/[0-9]*")) - 1)
`

// hostileLines are the arguments of a batch with a script for each module, and its exit code.
func (h *harness) hostileLines(modules map[string]hostileModule, ids map[string]string) (code int, args string) {
	h.t.Helper()
	venv := h.venv("/usr/bin/python3", h.dir+"/venv")
	if err := os.CopyFS(h.siteOf(venv), os.DirFS("testdata/hostile")); err != nil {
		h.t.Fatal(err)
	}
	var lines []manifest
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		ids[name] = h.newID()
		script := h.write("imports_"+name+".py", "import "+name+"\n"+countsItself, 0o644)
		line := manifest{"id": ids[name], "script": script, "runtime": venv}
		if strings.Contains(modules[name].end, "timeout") {
			line.and("timeout", "1s").and("grace", "100ms")
		}
		if !strings.HasPrefix(modules[name].end, "complete") {
			code = 1
		}
		lines = append(lines, line)
	}
	return code, h.lines(lines...)
}

// startOf is the kind of a run's start, with the reason or the modules.
func startOf(r result) string {
	if r.Start == nil {
		return "none"
	}
	if r.Start.Reason != "" {
		return r.Start.Kind + ": " + r.Start.Reason
	}
	text := r.Start.Kind
	for name, version := range r.Start.Modules {
		if version != "" { // those of the script have none
			text += " " + name + " " + version
		}
	}
	return text
}

// uncontained is an interpreter outside that has imported a module with the descriptors of a prepared start: 3 for
// reports, 4 for the note, 5 for the gate, which is open.
type uncontained struct {
	h           *harness
	dir, marker string
	gate        *os.File
	cmd         *exec.Cmd
	ended       chan struct{}
}

// importOutside is the control: the module does something outside.
func (h *harness) importOutside(module string, shows func(*uncontained) bool) {
	h.t.Helper()
	u := &uncontained{h: h, dir: h.path("outside-" + module), marker: newPrefix(), ended: make(chan struct{})}
	if err := os.Mkdir(u.dir, 0o755); err != nil {
		h.t.Fatal(err)
	}
	gate, opener, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	defer gate.Close()
	defer opener.Close()
	if _, err := opener.Write([]byte{0}); err != nil {
		h.t.Fatal(err)
	}
	u.gate = gate
	u.start("import sys, os; sys.path.insert(0, '" + testdata(h.t, "hostile") + "'); import " + module +
		"; print([fd for fd in (4, 5) if os.path.exists('/proc/self/fd/%d' % fd)])")
	defer u.end()
	until(h.t, hangTimeout, module+" does something outside", func() bool { return shows(u) })
}

func (u *uncontained) start(program string) {
	u.h.t.Helper()
	u.cmd = u.h.command("sh", "-c", `"$@"; echo survived`, "sh", "/usr/bin/python3", "-B", "-c", program)
	u.cmd.Dir, u.cmd.Env = u.dir, []string{"PATH=/usr/bin:/bin", "SCIDEX_PRELOAD=auto", "MARKER=" + u.marker}
	u.cmd.ExtraFiles = []*os.File{u.file("reports"), u.file("note"), u.gate}
	u.cmd.Stdout = u.file("stdout")
	if err := u.cmd.Start(); err != nil {
		u.h.t.Fatal(err)
	}
	go func() { _ = u.cmd.Wait(); close(u.ended) }()
}

// end kills what is left of it.
func (u *uncontained) end() {
	u.h.t.Helper()
	until(u.h.t, hangTimeout, "what the control has left ends", func() bool {
		left := u.processes()
		for _, p := range left {
			_ = unix.Kill(p.pid, unix.SIGKILL)
		}
		return len(left) == 0
	})
	<-u.ended
}

func (u *uncontained) file(name string) *os.File {
	u.h.t.Helper()
	f, err := os.OpenFile(filepath.Join(u.dir, name), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		u.h.t.Fatal(err)
	}
	u.h.t.Cleanup(func() { f.Close() })
	return f
}

func (u *uncontained) read(name string) string {
	raw, _ := os.ReadFile(filepath.Join(u.dir, name)) // "": there is none
	return string(raw)
}

// processes are those of the control that live.
func (u *uncontained) processes() (all []process) {
	processes(func(p process) bool {
		if bytes.Contains(p.environ, []byte("MARKER="+u.marker)) {
			all = append(all, p)
		}
		return false
	})
	return all
}

func noted(text string) func(*uncontained) bool {
	return func(u *uncontained) bool { return strings.Contains(u.read("note"), text) }
}

func notesMuch(u *uncontained) bool { return len(u.read("note")) > 1<<20 }

// said reports whether this is the first line: the descriptors that were left, or, if the interpreter has ended, its parent's.
func said(line string) func(*uncontained) bool {
	return func(u *uncontained) bool { return strings.HasPrefix(u.read("stdout"), line+"\n") }
}

func gateIsRead(u *uncontained) bool {
	n, err := unix.IoctlGetInt(int(u.gate.Fd()), unix.TIOCINQ)
	return err == nil && n == 0
}

func reports(u *uncontained) bool { return len(u.read("reports")) == 16 }

func writesOn(u *uncontained) bool { return u.read("early") != "" && leavesAProcess(u) }

func saysItStays(u *uncontained) bool {
	return len(matches(filepath.Join(u.dir, "stays"))) > 0 && u.read("stdout") == ""
}

// leavesAProcess reports whether a process is alive after the first, whose end stdout shows.
func leavesAProcess(u *uncontained) bool {
	return u.read("stdout") != "" && slices.ContainsFunc(u.processes(), func(p process) bool { return bytes.HasPrefix(p.command, []byte("/usr/bin/python3")) })
}

func isStopped(u *uncontained) bool {
	return slices.ContainsFunc(u.processes(), func(p process) bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
		return bytes.Contains(stat, []byte(") T "))
	})
}

func parentIsKilled(u *uncontained) bool {
	select {
	case <-u.ended:
		status, ok := u.cmd.ProcessState.Sys().(syscall.WaitStatus)
		return ok && status.Signaled() && status.Signal() == unix.SIGKILL && u.read("stdout") != "survived\n"
	default:
		return false
	}
}
