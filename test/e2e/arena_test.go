package e2e

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// arena is what an attack program may attack: directories, a process, and what its head comment says that it also
// needs. The control has one of its own.
type arena struct {
	h       *harness
	name    string
	program func(there string) []string
	told    map[string]any // to the program; the same for all languages
	within  map[string]any // what is otherwise inside
	flags   []string       // of the run
	env     []string       // of the control
	checks  []func(outside bool)
}

// needs are what a program can request by "needs: NAME". Each adds to the program's input and to the checks.
var needs = map[string]func(*arena){
	"abstract":   (*arena).addAbstract,
	"canaries":   (*arena).addCanaries,
	"database":   (*arena).addDatabase,
	"listeners":  (*arena).addListeners,
	"nameserver": (*arena).addNameserver,
	"program":    (*arena).addProgram,
	"victim":     (*arena).addVictim,
}

// newArena makes data, docs, input and project directories that everybody may change, a file that is an input, and a
// directory that is / in the control.
func newArena(h *harness, name string, p attack) *arena {
	h.t.Helper()
	a := &arena{h: h, name: name, told: map[string]any{"marker": newPrefix()}, within: map[string]any{}}
	for _, dir := range []struct{ name, flag, there string }{
		{"data", "--data=%s", "/data"},
		{"docs", "--docs=%s", "/docs"},
		{"input", "--input=%s:/inputs/more", "/inputs/more"},
		{"project", "--project=%s", "/analysis"},
	} {
		path := spoilable(h, name+"/"+dir.name)
		a.told[dir.name], a.within[dir.name] = path, dir.there
		a.flags = append(a.flags, fmt.Sprintf(dir.flag, path))
	}
	for _, link := range []string{"data", "docs"} { // which the run finds in its working directory
		a.told[link+"_link"], a.within[link+"_link"] = spoilable(h, name+"/"+link+"-link"), link
	}
	file := h.write(name+"/file", "precious", 0o666)
	a.told["file"], a.within["file"] = file, "/inputs/file"
	a.flags = append(a.flags, "--input="+file+":/inputs/file")
	if err := unix.Chmod(h.write(name+"/data/setid", "", 0o755), 0o6755); err != nil {
		h.t.Fatal(err)
	}
	a.told["root"], a.within["root"] = standIn(h, name+"/root"), "/"
	a.told["scratch"], a.within["scratch"] = []string{}, scratch()
	a.told["devices"], a.within["devices"] = []string{}, devices
	a.program = p.put(h, h.path(name+"/project"))
	for _, need := range p.needs {
		add := needs[need]
		if add == nil {
			h.t.Fatalf("nothing is called %q that a program could need", need)
		}
		add(a)
	}
	a.unchanged()
	return a
}

// scratch is what a run may write: the single id of a caller without a range is root inside, so that its
// own instance of devpts is its own too.
func scratch() []string {
	places := []string{"/work", "/tmp", "/dev/shm", "/home/analysis"}
	if !theHost.ranged {
		places = append(places, "/dev/pts")
	}
	return places
}

// devices are the only ones that a run has.
var devices = []string{
	"/dev/full", "/dev/null", "/dev/ptmx", "/dev/pts/ptmx", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero",
}

// standIn makes a small root filesystem for the control.
func standIn(h *harness, name string) string {
	h.t.Helper()
	for _, file := range []string{"etc/passwd", "usr/bin/program", "var/lib/state", "run/pid", "opt/x", "dev/x"} {
		h.write(name+"/"+file, "precious", 0o666)
	}
	return h.path(name)
}

// unchanged checks that the files of the arena are as they are now, when the run has ended.
func (a *arena) unchanged() {
	a.h.t.Helper()
	dir := a.h.path(a.name)
	before := snapshot(a.h.t, dir)
	a.checks = append(a.checks, func(outside bool) {
		if after := snapshot(a.h.t, dir); !outside && !maps.Equal(before, after) {
			a.h.t.Errorf("files of the host changed:\n%s", changes(before, after))
		}
	})
}

// inspect looks at what the program left of the arena.
func (a *arena) inspect(outside bool) {
	a.h.t.Helper()
	for _, check := range a.checks {
		check(outside)
	}
}

// changes lists what differs.
func changes(before, after map[string]string) string {
	var lines []string
	for path := range maps.All(before) {
		if after[path] != before[path] {
			lines = append(lines, fmt.Sprintf("%s: %s, was %s", path, after[path], before[path]))
		}
	}
	for path := range maps.All(after) {
		if _, ok := before[path]; !ok {
			lines = append(lines, "new: "+path)
		}
	}
	return strings.Join(lines, "\n")
}

// addVictim starts a process of the caller, and gives the program its pid and the marker among its arguments. Inside,
// init is PID 1, which defends itself.
func (a *arena) addVictim() {
	a.h.t.Helper()
	marker := a.told["marker"].(string)
	pid := victim(a.h.t, marker)
	a.told["victim"], a.told["init"], a.within["init"] = pid, pid, 1
	a.told["victim_fd"], a.told["init_fd"], a.within["init_fd"] = 0, 0, 3 // one that it has open
	before := describe(a.h.t, pid)
	a.checks = append(a.checks, func(outside bool) {
		if after := describe(a.h.t, pid); !outside && after != before {
			a.h.t.Errorf("the process outside is otherwise:\n%s", strings.Join(difference(strings.Split(before, "\n"), strings.Split(after, "\n")), "\n"))
		}
	})
}

// victim starts a process of the caller and waits until it executes the requested program.
func victim(t *testing.T, marker string) int {
	t.Helper()
	pid := canaryProcess(t, marker)
	until(t, hangTimeout, "the process is the one that was started", func() bool { return len(with("line\x00"+marker)) > 0 })
	return pid
}

// describe returns what others could change in a process.
func describe(t *testing.T, pid int) string {
	t.Helper()
	text := ""
	for _, name := range []string{"cmdline", "environ", "limits", "oom_score_adj", "cgroup", "autogroup"} {
		text += readFile(t, fmt.Sprintf("/proc/%d/%s", pid, name)) + "\n"
	}
	stat := readFile(t, fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')'):])
	stopped := strings.ContainsAny(fields[1], "TtZX")
	// Parent, group, session; priority and nice; real-time priority and policy (proc_pid_stat(5)).
	return strings.ReplaceAll(text, "\x00", " ") +
		fmt.Sprint("stopped or dead: ", stopped, ", ", append(fields[2:5], fields[16], fields[17], fields[38], fields[39]))
}

// spoilable makes a directory in which everyone may do everything.
func spoilable(h *harness, name string) string {
	h.t.Helper()
	for _, file := range []string{"kept", "spare", "sub/below"} {
		h.write(name+"/"+file, "precious", 0o666)
	}
	if err := os.Mkdir(h.path(name+"/empty"), 0o777); err != nil {
		h.t.Fatal(err)
	}
	err := filepath.WalkDir(h.path(name), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o777)
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return h.path(name)
}
