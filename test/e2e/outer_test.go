package e2e

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// ownGroup finds the control group that this process is in by looking into all of them.
func ownGroup(t *testing.T, controller string) string {
	t.Helper()
	top := "/sys/fs/cgroup/" + controller + "/"
	if unified() {
		top = "/sys/fs/cgroup/"
	}
	var own string
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil //nolint:nilerr // a group that has vanished
		}
		pids, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err == nil && slices.Contains(strings.Fields(string(pids)), strconv.Itoa(os.Getpid())) {
			own = path
			return fs.SkipAll
		}
		return nil
	})
	if err != nil || own == "" {
		t.Fatalf("this process is in no control group of %s (%v)", controller, err)
	}
	return own
}

// kernelHolds reads from the kernel's files what the groups from dir upwards hold of a limit; empty: nothing.
func kernelHolds(dir, limit string) string {
	least := math.Inf(1)
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil {
			break
		}
		value := func(file string) float64 {
			text, err := os.ReadFile(filepath.Join(dir, file))
			n, failed := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
			if err != nil || failed != nil {
				return math.Inf(1)
			}
			return n
		}
		switch {
		case limit == "pids":
			least = min(least, value("pids.max"))
		case limit == "memory":
			least = min(least, value("memory.max"), value("memory.limit_in_bytes"))
		case unified():
			text, _ := os.ReadFile(filepath.Join(dir, "cpu.max")) // the root has none
			var quota, period float64
			if _, err := fmt.Sscan(string(text), &quota, &period); err == nil {
				least = min(least, quota/period)
			}
		case value("cpu.cfs_quota_us") > 0:
			least = min(least, value("cpu.cfs_quota_us")/value("cpu.cfs_period_us"))
		}
	}
	if least >= 1<<62 {
		return ""
	}
	if limit == "cpus" {
		return strconv.FormatFloat(least, 'g', -1, 64)
	}
	return strconv.FormatInt(int64(least), 10)
}

// expectTold checks that the result has the limits of memory, CPUs and processes that the kernel's files have, and a
// warning for each that is not enforced.
func (r result) expectTold(t *testing.T, groups map[string]string) {
	t.Helper()
	for limit, dir := range groups {
		want := enforcement{Limit: limit, Effective: kernelHolds(dir, limit), By: "outer"}
		if want.Effective == "" {
			want.By = "none"
		}
		got := r.enforcement(limit)
		want.Asked = got.Asked
		if limit == "cpus" && want.By == "none" && got.By == "outer" { // a smaller set of CPUs is a limit, too
			want.By, want.Effective = "outer", strconv.Itoa(affinity(t))
		}
		if got != want {
			t.Errorf("the result says %+v, the kernel %+v", got, want)
		}
		asked := got.Asked
		if bytes, err := strconv.ParseInt(asked, 10, 64); err == nil && limit == "memory" {
			asked = format.Size(bytes)
		}
		warned := slices.ContainsFunc(r.Warnings, func(w string) bool {
			return strings.HasPrefix(w, "outer: nothing holds the limit of "+asked+" ")
		})
		if warned != (want.By == "none") {
			t.Errorf("%s is held by %s, warnings %q", limit, got.By, r.Warnings)
		}
	}
	for limit, by := range map[string]string{"timeout": "watchdog", "log_size": "watchdog", "tmp": "tmpfs"} {
		if got := r.enforcement(limit); got.By != by || got.Effective != got.Asked {
			t.Errorf("%s: %+v", limit, got)
		}
	}
}

// affinity is the number of CPUs that this process may run on.
func affinity(t *testing.T) int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	return set.Count()
}

// With outer, a run reports what the groups that it is in really enforce, for any user and in any group.
func TestOuterLimitsAreReported(t *testing.T) {
	h := newHarness(t)
	r := h.start("--id", h.id("o"), "--limits=outer", "--memory=300MiB", "--cpus=0.7", "--pids=41", "--", "true")
	r.expect(t, "complete", "exit", 0)
	r.expectTold(t, map[string]string{"memory": ownGroup(t, "memory"), "cpus": ownGroup(t, "cpu"), "pids": ownGroup(t, "pids")})
	if groups := groupsOf(h.run); len(groups) > 0 {
		t.Errorf("with outer, groups of its own: %q", groups)
	}
	for _, limit := range []string{"memory 314572800", "cpus 0.7", "pids 41"} {
		name, asked, _ := strings.Cut(limit, " ")
		if got := r.enforcement(name); got.Asked != asked {
			t.Errorf("%+v, asked for %s", got, asked)
		}
	}
}

// box is a group of another owner in each hierarchy of version 1, in which launchers are started.
type box struct {
	t    *testing.T
	dirs map[string]string // by controller
}

// newBox makes a box of 192 MiB, 60 processes and half a CPU.
func newBox(t *testing.T) box {
	t.Helper()
	b := box{t, map[string]string{}}
	for _, controller := range []string{"memory", "pids", "cpu"} {
		dir := filepath.Join(ownGroup(t, controller), newPrefix())
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			// A process that has ended keeps its group busy for a moment.
			eventually(func() []string { _ = os.Remove(dir); return matches(dir) })
		})
		b.dirs[controller] = dir
	}
	b.set("memory", "memory.limit_in_bytes", "192M")
	b.set("pids", "pids.max", "60")
	b.set("cpu", "cpu.cfs_quota_us", "50000")
	return b
}

func (b box) set(controller, file, value string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dirs[controller], file), []byte(value), 0); err != nil {
		b.t.Fatal(err)
	}
}

// enter is the shell's way into the box.
func (b box) enter() string {
	var lines strings.Builder
	for _, dir := range b.dirs {
		fmt.Fprintf(&lines, "echo $$ >'%s/cgroup.procs' && ", dir)
	}
	return lines.String()
}

// start runs an analysis by the only launcher in the box.
func (b box) start(h *harness, args ...string) result {
	h.t.Helper()
	return h.decode(h.command("sh", append([]string{"-c", b.enter() + `exec "$@"`, "sh", theHost.bin, "run", "--json"}, args...)...))
}

func (h *harness) decode(cmd *exec.Cmd) result {
	h.t.Helper()
	out := h.finish(cmd)
	r, err := parseResult([]byte(out.stdout))
	if err != nil {
		h.t.Fatalf("%q: %v\n%s", cmd.Args, err, out.stderr)
	}
	return r
}

// needBox skips tests that cannot make groups of version 1.
func needBox(t *testing.T) {
	t.Helper()
	if !theHost.root || unified() {
		t.Skip("needs root on cgroup v1; version 2 has TestOuterScope in the virtual machine")
	}
}

// Limits of another owner's group are reported, and end a run with the kernel's evidence.
func TestOuterGroup(t *testing.T) {
	needBox(t)
	h, b := newHarness(t), newBox(t)
	start := func(args ...string) result {
		return b.start(h, append([]string{"--id", h.newID(), "--limits=outer", "--memory=100MiB"}, args...)...)
	}
	b.set("cpu", "cpu.cfs_quota_us", "5000") // so little that a busy machine gives more
	r := start("--", "python3", "-c", "for i in range(1000000): pass")
	r.expect(t, "complete", "exit", 0)
	r.expectTold(t, map[string]string{"memory": b.dirs["memory"], "cpus": b.dirs["cpu"], "pids": b.dirs["pids"]})
	if got := r.enforcement("memory"); got != (enforcement{"memory", "104857600", "201326592", "outer"}) {
		t.Errorf("%+v", got)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "more than the 100MiB asked for") }) {
		t.Errorf("a limit larger than what was asked for: %q", r.Warnings)
	}
	if r.Evidence.ThrottledMS == 0 || r.Evidence.OOMKills != 0 || r.Evidence.PidsDenied != 0 {
		t.Errorf("after spinning: %+v, %+v, warnings %q", r.Evidence, r.Usage, r.Warnings)
	}

	b.set("cpu", "cpu.cfs_quota_us", "50000")
	const message = "out of memory: the kernel killed at the limit of 192MiB of a control group around the run (oom_kill 1)"
	r = start(shell("echo x >x.txt; exec " + hog)...)
	r.expect(t, "failed", "out_of_memory", 137)
	if r.Message != message || r.Evidence.OOMKills != 1 || r.Evidence.OOMLimit.By != "outer" || r.Evidence.OOMLimit.Bytes != 192<<20 {
		t.Errorf("%q, evidence %+v", r.Message, r.Evidence)
	}
	if o := r.output("x.txt"); o.Size != 2 || !o.Partial {
		t.Errorf("what was written before the end: %+v of %+v", o, r.Outputs)
	}
	r = start(shell(hog + "; exit 9")...)
	r.expect(t, "failed", "out_of_memory", 137)

	r = start("--project", testdata(t, "limits"), "--", "python3", "-B", "/analysis/tasks.py", "/etc/passwd", "processes", "100")
	r.expect(t, "failed", "pids_limit", 1)
	if r.Evidence.PidsDenied < 1 || !strings.Contains(r.Message, "the limit of 60 processes was reached") {
		t.Errorf("%q, evidence %+v", r.Message, r.Evidence)
	}
	r = start(shell("kill -9 $$")...)
	r.expect(t, "failed", "signal", 137)
	if len(r.Warnings) > 1 || r.Evidence.OOMKills != 0 {
		t.Errorf("killed by itself: %q, evidence %+v", r.Warnings, r.Evidence)
	}
}

// swarm keeps as many processes as it may have until it was denied 500 more.
const swarm = `
import os, signal, sys, time
denied = 0
while denied < 500:
    try:
        if os.fork() == 0:
            signal.pause()
    except BlockingIOError:
        denied += 1
        time.sleep(0.002)
sys.exit(1)
`

// A fork bomb that uses all processes of a group in which the launcher and the supervisor are, too, leaves them what
// they need to report the end. Without their spare threads three of four launchers die.
func TestOuterForkBomb(t *testing.T) {
	needBox(t)
	h, b := newHarness(t), newBox(t)
	b.set("cpu", "cpu.cfs_quota_us", "-1")
	for range 5 {
		r := b.start(h, "--id", h.newID(), "--limits=outer", "--", "python3", "-c", swarm)
		r.expect(t, "failed", "pids_limit", 1)
		if r.Evidence.PidsDenied < 500 {
			t.Errorf("that was no attack: %+v", r.Evidence)
		}
	}
}

// A child that the kernel kills, while the analysis goes on, is a warning.
func TestOuterChildOutOfMemory(t *testing.T) {
	needBox(t)
	h, b := newHarness(t), newBox(t)
	r := b.start(h, append([]string{"--id", h.id("c"), "--limits=outer"}, shell(hog+"; exit 0")...)...)
	r.expect(t, "complete", "exit", 0)
	if r.Evidence.OOMKills != 1 || !slices.ContainsFunc(r.Warnings, func(w string) bool {
		return strings.Contains(w, "killed 1 process of the run for lack of memory, and the analysis went on")
	}) {
		t.Errorf("%q, evidence %+v", r.Warnings, r.Evidence)
	}
}

// If other processes are in the group, it is unknown whose process the kernel has killed, and the result does not claim it.
func TestOuterGroupIsShared(t *testing.T) {
	needBox(t)
	h, b := newHarness(t), newBox(t)
	script := b.enter() + `{ sleep 10000 & p=$!; "$@"; kill $p; }`
	args := append([]string{"-c", script, "sh", theHost.bin, "run", "--json", "--id", h.id("s"), "--limits=outer"}, shell("exec "+hog)...)
	r := h.decode(h.command("sh", args...))
	r.expect(t, "failed", "signal", 137)
	if r.Evidence.OOMKills != 0 || !slices.ContainsFunc(r.Warnings, func(w string) bool {
		return strings.Contains(w, "counted 1 process killed for lack of memory") && strings.Contains(w, "cannot be known whose")
	}) {
		t.Errorf("%q, evidence %+v", r.Warnings, r.Evidence)
	}
}

// The result of a run with a group of its own that ends by the limit of an outer one does not say that it reached its own.
func TestWhoseMemoryRanOut(t *testing.T) {
	needBox(t)
	h, b := newHarness(t), newBox(t)
	for _, c := range []struct{ memory, by, says string }{
		{"400MiB", "outer", "at the limit of 192MiB of a control group around the run; the run's own limit of 400MiB was not reached (peak "},
		{"64MiB", "cgroup", "at the limit of 64MiB (peak 64MiB, oom_kill 1)"},
	} {
		r := b.start(h, append([]string{"--id", h.newID(), "--limits=enforce", "--cpus=0.3", "--pids=50", "--memory=" + c.memory}, shell("exec "+hog)...)...)
		r.expect(t, "failed", "out_of_memory", 137)
		if r.Evidence.OOMLimit == nil || r.Evidence.OOMLimit.By != c.by || !strings.Contains(r.Message, c.says) {
			t.Errorf("with %s: %q, evidence %+v of %+v", c.memory, r.Message, r.Evidence, r.Evidence.OOMLimit)
		}
	}
	r := b.start(h, "--id", h.id("p"), "--limits=enforce", "--cpus=0.3", "--pids=500", "--project", testdata(t, "limits"), "--", "python3", "-B", "/analysis/tasks.py", "/etc/passwd", "processes", "100")
	r.expect(t, "failed", "pids_limit", 1)
	if !strings.Contains(r.Message, "its own limit of 500 was not") {
		t.Errorf("%q", r.Message)
	}
}

// Best effort reports for each limit what enforces it: the kernel's files of the run's group, or its rlimits.
func TestBestEffortIsReported(t *testing.T) {
	h := newHarness(t)
	flag := h.flag()
	l := h.launch(h.id("b"), append([]string{"--limits=best-effort", "--memory=700MiB", "--cpus=0.5", "--pids=77", "--input", flag.input()},
		shell("cat /proc/self/limits; stat -f -c 'tmp %b %S' /tmp; echo ready; "+awaited)...)...)
	l.await("ready")
	held := map[string]string{}
	for _, dir := range groupsOf(h.id("b")) {
		for limit, file := range map[string]string{"memory": "memory", "cpus": "cpu.", "pids": "pids.max"} {
			if len(matches(filepath.Join(dir, file+"*"))) > 0 && kernelHolds(dir, limit) != "" {
				held[limit] = kernelHolds(dir, limit) + " cgroup"
			}
		}
	}
	if len(held) == 0 {
		held = map[string]string{"memory": rlimitOf(l, "Max data size") + " rlimit", "pids": rlimitOf(l, "Max processes") + " rlimit"}
	}
	if held["cpus"] == "" {
		held["cpus"] = " none"
	}
	var blocks, size int64
	if _, err := fmt.Sscanf(lineOf(l, "tmp "), "tmp %d %d", &blocks, &size); err != nil {
		t.Fatal(err)
	}
	held["tmp"] = strconv.FormatInt(blocks*size, 10) + " tmpfs"
	flag.raise()
	r := l.wait()
	r.expect(t, "complete", "exit", 0)
	for limit, want := range held {
		if got := r.enforcement(limit); got.Effective+" "+got.By != want {
			t.Errorf("%s: the result says %+v, the kernel %q", limit, got, want)
		}
	}
	for _, limit := range []string{"memory", "cpus"} {
		warned := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "best effort: ") })
		if got := r.enforcement(limit); got.By != "cgroup" && !warned {
			t.Errorf("%+v without a warning: %q", got, r.Warnings)
		}
	}
}

func lineOf(l *launch, start string) string {
	for line := range strings.Lines(l.said.String()) {
		if strings.HasPrefix(line, start) {
			return line
		}
	}
	return ""
}

// rlimitOf is the hard limit that /proc/self/limits gives.
func rlimitOf(l *launch, name string) string {
	fields := strings.Fields(strings.TrimPrefix(lineOf(l, name), name))
	if len(fields) < 2 {
		return ""
	}
	return fields[1]
}
