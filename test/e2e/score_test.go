//go:build score

// scripts/score runs this. It takes bubblewrap, podman and sandbox-runtime, and is no test of scidex-oci.

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sandbox is a way to run an untrusted command: none, this tool, or another one.
type sandbox struct {
	name   string
	inside map[string]any // of what is attacked, what is elsewhere inside; nil: paths are the host's
	wrap   func(h *harness, p layout, argv []string) []string
}

// layout has what a sandbox shows read-only, by its path inside, and its working directory.
type layout struct {
	shown map[string]string
	work  string
}

var sandboxes = []sandbox{
	{"none", nil, func(_ *harness, _ layout, argv []string) []string { return argv }},
	{"scidex-oci", nil, nil}, // by arena.inside
	{"bwrap", ofItsOwn("/dev", "/run"), wrapBwrap},
	{"podman", ofItsOwn("/dev", "/run", "/var/tmp", "/sys/fs/cgroup"), wrapPodman},
	{"srt default", map[string]any{"init": 1, "init_fd": 3}, wrapSRT("")},
	{"srt strict", map[string]any{"init": 1, "init_fd": 3}, wrapSRT(`{"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem":
		{"denyRead": ["/home", "/root", "/srv", "/var", "/opt", "~"], "allowRead": ["."], "allowWrite": ["."], "denyWrite": []}}`)},
}

// ofItsOwn are sandboxes with a root of their own, as scidex-oci's: what else they may write, in memory.
func ofItsOwn(memory ...string) map[string]any {
	return map[string]any{
		"data": "/data", "docs": "/docs", "input": "/inputs/more", "project": "/analysis", "file": "/inputs/file", "data_link": "data",
		"docs_link": "docs", "root": "/", "scratch": append(scratch(), memory...), "devices": devices, "init": 1, "init_fd": 3,
		"program": "/usr/bin/sleep", "command": []string{"/usr/bin/sleep", "1000"}, "hide": false,
	}
}

// wrapBwrap follows the example of bubblewrap's manual: all namespaces, no terminal, an end with its parent, nothing but /usr.
func wrapBwrap(_ *harness, p layout, argv []string) []string {
	words := strings.Fields("bwrap --unshare-all --die-with-parent --new-session --cap-drop ALL --clearenv --setenv PATH /usr/bin:/bin " +
		"--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib --symlink usr/lib64 /lib64 " +
		"--ro-bind /etc/alternatives /etc/alternatives --ro-bind /etc/ld.so.cache /etc/ld.so.cache --proc /proc --dev /dev --tmpfs /tmp " +
		"--tmpfs /home/analysis --tmpfs /run --dir /var --symlink /tmp /var/tmp --uid 1000 --gid 1000")
	for _, there := range slices.Sorted(maps.Keys(p.shown)) {
		words = append(words, "--ro-bind", p.shown[there], there)
	}
	words = append(words, "--bind", p.work, "/work", "--remount-ro", "/", "--chdir", "/work")
	return append(words, argv...)
}

// wrapPodman is a container without network, capabilities and new privileges, whose root is read-only, with the host's /usr for an image.
func wrapPodman(h *harness, p layout, argv []string) []string {
	words := append(podman(), strings.Fields("run --rm --network=none --read-only --cap-drop=all --security-opt=no-new-privileges "+
		"--memory=1g --pids-limit=200 --user=1000:1000 --userns=keep-id:uid=1000,gid=1000 --hostname=box --volume=/usr:/usr:ro --workdir=/work")...)
	for _, there := range slices.Sorted(maps.Keys(p.shown)) {
		words = append(words, "--volume="+p.shown[there]+":"+there+":ro")
	}
	words = append(words, "--volume="+p.work+":/work", "--tmpfs=/home/analysis:rw,mode=1777", "--rootfs", skeleton(h))
	return append(words, argv...)
}

// endPodman ends the process that keeps a user's podman its namespaces.
func endPodman() {
	raw, _ := os.ReadFile(os.Getenv("SCIDEX_OCI_SCORE") + "/run/tmp/pause.pid")
	if pid, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
}

func podman() []string {
	home := os.Getenv("SCIDEX_OCI_SCORE")
	return []string{
		"CONTAINERS_CONF=" + home + "/containers.conf", "XDG_RUNTIME_DIR=" + home + "/run", "podman", "--log-level=error", "--storage-driver=vfs", "--root", home + "/graph",
		"--runroot", home + "/run/storage", "--tmpdir", home + "/run/tmp",
	}
}

// skeleton is a root with the directories that are mounted on.
func skeleton(h *harness) string {
	h.t.Helper()
	root := h.path("skeleton")
	for _, dir := range strings.Fields("usr proc sys dev tmp run var/tmp work data docs inputs/more analysis etc home/analysis") {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			h.t.Fatal(err)
		}
	}
	h.write("skeleton/inputs/file", "", 0o644)
	for _, link := range strings.Fields("bin sbin lib lib64") {
		_ = os.Symlink("usr/"+link, filepath.Join(root, link))
	}
	return root
}

// wrapSRT has the settings, or the defaults.
func wrapSRT(settings string) func(*harness, layout, []string) []string {
	return func(h *harness, _ layout, argv []string) []string {
		words := strings.Fields(os.Getenv("SCIDEX_OCI_SCORE_SRT"))
		if settings != "" {
			words = append(words, "--settings", h.write("srt.json", settings, 0o644))
		}
		return append(append(words, "--"), argv...)
	}
}

// TestScore runs each attack in each sandbox, and prints the tables of docs/compare.md.
func TestScore(t *testing.T) {
	t.Cleanup(endPodman)
	var scores []score
	for _, name := range attackPrograms(t) {
		p := readAttack(t, name)
		control := verdicts{}
		for _, s := range sandboxes {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				got := s.attacked(newHarness(t), p)
				if s.name == "none" {
					control = got
				}
				for try, outside := range control {
					scores = append(scores, score{s.name, name, try, outside, got[try]})
				}
			})
		}
	}
	raw, err := json.Marshal(scores)
	if err == nil {
		err = os.WriteFile(filepath.Join(os.Getenv("SCIDEX_OCI_SCORE"), "scores.json"), raw, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(scoreTable(sandboxNames(), scores))
	for _, s := range sandboxes[1:] {
		fmt.Printf("not held by %s: %s\n", s.name, strings.Join(notHeld(s.name, scores), "; "))
	}
}

// notHeld are the tries that succeeded in the sandbox.
func notHeld(sandbox string, scores []score) (tries []string) {
	for _, s := range scores {
		if s.Sandbox == sandbox && s.verdict() == "not held" {
			tries = append(tries, s.Attack+": "+s.Try)
		}
	}
	slices.Sort(tries)
	return tries
}

func sandboxNames() (all []string) {
	for _, s := range sandboxes {
		all = append(all, s.name)
	}
	return all
}

// attacked runs the attack in an arena of its own. It reports a sandbox that does not start.
func (s sandbox) attacked(h *harness, p attack) verdicts {
	h.t.Helper()
	a := newArena(h, "arena", p)
	if s.wrap == nil {
		return a.inside(p)
	}
	there, told := h.path("arena/project"), s.inside
	if s.inside["project"] != nil {
		there = "/analysis"
	}
	if s.name == "none" {
		return a.outside(p)
	}
	cmd := h.command("env", s.wrap(h, h.place(), append(a.program(there), a.tell(told)))...)
	cmd.Dir = h.place().work
	out := h.end(cmd)
	v := verdicts{}
	if err := json.Unmarshal([]byte(out.stdout), &v); err != nil {
		h.t.Logf("%s in %s: exit code %d: %s", p.name, s.name, out.code, out.stderr)
	}
	if s.name == "podman" { // without --init PID 1 is the attack itself
		maps.DeleteFunc(v, func(try, _ string) bool { return strings.HasPrefix(try, "init") })
	}
	return v
}

// place has the arena's directories, and a working directory with the links of a run.
func (h *harness) place() layout {
	h.t.Helper()
	work := h.path("work")
	_ = os.Mkdir(work, 0o777)
	_ = os.Symlink("/data", filepath.Join(work, "data"))
	_ = os.Symlink("/docs", filepath.Join(work, "docs"))
	return layout{map[string]string{
		"/data": h.path("arena/data"), "/docs": h.path("arena/docs"), "/inputs/more": h.path("arena/input"),
		"/inputs/file": h.path("arena/file"), "/analysis": h.path("arena/project"),
	}, work}
}

// probes try to exceed limits of 64 MiB of memory, 50 processes and 64 MiB of files.
var probes = map[string]string{
	"memory":    `b = bytearray(256 << 20); print("passed")`,
	"processes": "import os, time\nfor n in range(400):\n  if os.fork() == 0: time.sleep(5); os._exit(0)\nprint('passed')",
	"disk":      `f = open("big", "wb"); [f.write(bytes(1 << 20)) for n in range(256)]; f.close(); print("passed")`,
}

// TestScoreMeasures prints what each sandbox enforces, and how long it takes to start.
func TestScoreMeasures(t *testing.T) {
	t.Cleanup(endPodman)
	h := newHarness(t)
	for _, name := range []string{"data/x", "docs/x", "input/x", "project/x", "file"} {
		h.write("arena/"+name, "", 0o644)
	}
	times := map[string][]time.Duration{}
	for range 21 {
		for _, s := range sandboxes {
			begin := time.Now()
			if out := s.starts(h, "/usr/bin/true"); out.code != 0 {
				t.Fatalf("%s: %s", s.name, out.stderr)
			}
			times[s.name] = append(times[s.name], time.Since(begin))
		}
	}
	for _, s := range sandboxes {
		slices.Sort(times[s.name])
		line := fmt.Sprintf("%s: start %v (median of 21; fastest %v)", s.name, times[s.name][10].Round(100*time.Microsecond), times[s.name][0].Round(100*time.Microsecond))
		for what, program := range probes {
			out := s.starts(h, "/usr/bin/python3", "-c", program)
			line += fmt.Sprintf("; %s: %v", what, map[bool]string{false: "held", true: "not held"}[out.code == 0 || strings.Contains(out.stdout, "passed")])
			_ = os.Remove(filepath.Join(h.place().work, "big"))
		}
		fmt.Printf("%s; resident beside the command: %d KiB\n", line, s.resident(h))
	}
}

// resident adds up the memory (VmRSS) of all processes of the sandbox without the command, in KiB; shared pages count for each.
func (s sandbox) resident(h *harness) (sum int) {
	h.t.Helper()
	cmd := s.command(h, "/bin/sh", "-c", "echo ready; exec sleep 3")
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil && s.wrap != nil { // scidex-oci shows the output on its own
		_, err = stdout.Read(make([]byte, 6))
	}
	if err != nil {
		h.t.Fatal(err)
	}
	time.Sleep(time.Second)
	for _, w := range familyOf(h.t, os.Getpid())[1:] {
		if status := fieldsOf("/proc/" + w.id() + "/status"); !strings.HasPrefix(w.command, "sleep") {
			kib, _ := strconv.Atoi(strings.TrimSuffix(status["VmRSS"], " kB"))
			sum += kib
		}
	}
	_ = cmd.Wait()
	return sum
}

// fieldsOf reads "name: value" lines; none of a process that has ended.
func fieldsOf(path string) map[string]string {
	raw, _ := os.ReadFile(path)
	fields := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimSpace(value)
	}
	return fields
}

// starts runs a command with the limits of the probes, for those that have limits.
func (s sandbox) starts(h *harness, argv ...string) outcome {
	h.t.Helper()
	return h.end(s.command(h, argv...))
}

func (s sandbox) command(h *harness, argv ...string) *exec.Cmd {
	h.t.Helper()
	words := []string{}
	if s.wrap == nil {
		words = append([]string{
			theHost.bin, "run", "--id", h.newID(), "--memory=64MiB", "--pids=50", "--work-size=64MiB", "--data=arena/data", "--docs=arena/docs", "--",
		}, argv...)
	} else {
		words = s.wrap(h, h.place(), argv)
		for i, word := range words {
			words[i] = strings.NewReplacer("--memory=1g", "--memory=64m", "--pids-limit=200", "--pids-limit=50").Replace(word)
		}
	}
	cmd := h.command("env", words...)
	if s.wrap != nil {
		cmd.Dir = h.place().work
	}
	return cmd
}
