package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgrouptest"
)

// system writes /proc/self for a process in the given groups ("4:memory:/a").
func system(h *cgrouptest.Host, root bool, groups ...string) System {
	return System{Proc: h.Self(groups...), Root: root}
}

// unified makes one group of cgroup v2 with the files that Find looks at.
func unified(h *cgrouptest.Host, dir, controllers, handedDown string, pids ...int) {
	var procs strings.Builder
	for _, pid := range pids {
		fmt.Fprintln(&procs, pid)
	}
	h.Write(filepath.Join(dir, "cgroup.controllers"), controllers)
	h.Write(filepath.Join(dir, "cgroup.subtree_control"), handedDown)
	h.Write(filepath.Join(dir, "cgroup.procs"), procs.String())
}

func TestFindV1(t *testing.T) {
	h := cgrouptest.NewHost(t)
	for _, c := range []string{"memory", "pids", "cpu"} {
		h.Mount("/", "cg/"+c, "cgroup", "rw,"+c)
		if err := os.MkdirAll(filepath.Join(h.Dir, "cg", c, "own"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	groups := []string{"3:cpu:/own", "2:pids:/own", "1:memory:/own"}
	p, err := Find(t.Context(), system(h, true, groups...))
	if err != nil {
		t.Fatal(err)
	}
	if p.Version != 1 || !p.CPU {
		t.Errorf("found %+v", p)
	}
	want := filepath.Join(h.Dir, "cg/memory/own/scidex-oci-x@1")
	if plan := p.Plan("x@1"); len(plan) != 3 || plan[1] != want {
		t.Errorf("planned %v, want three with %s", plan, want)
	}
	_, err = Find(t.Context(), system(h, false, groups...))
	var missing *MissingError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "cgroup v1, where only root") {
		t.Errorf("an ordinary user gets %v", err)
	}
}

func TestFindV1WithoutController(t *testing.T) {
	h := cgrouptest.NewHost(t)
	h.Mount("/", "cg/memory", "cgroup", "rw,memory")
	h.Mount("/", "cg/pids", "cgroup", "rw,pids")
	h.Write("cg/memory/tasks", "")
	_, err := Find(t.Context(), system(h, true, "1:memory:/", "2:pids:/"))
	if err == nil || !strings.Contains(err.Error(), "the pids controller") {
		t.Errorf("a missing hierarchy gives %v", err)
	}
}

func TestFindV2(t *testing.T) {
	self := os.Getpid()
	for name, c := range map[string]struct {
		prepare func(h *cgrouptest.Host)
		parent  string // relative to the mount; empty: refused
		cpu     bool
		refusal string
	}{
		"delegated above, enabled": {
			func(h *cgrouptest.Host) {
				unified(h, "cg/user", "cpu memory pids", "cpu memory pids")
				unified(h, "cg/user/app", "cpu memory pids", "", self, 1)
			}, "user", true, "",
		},
		"without the cpu controller": {
			func(h *cgrouptest.Host) {
				unified(h, "cg/user", "memory pids", "memory pids")
				unified(h, "cg/user/app", "memory pids", "", self)
			}, "user", false, "",
		},
		"memory not delegated": {
			func(h *cgrouptest.Host) {
				unified(h, "cg/user", "pids", "pids")
				unified(h, "cg/user/app", "pids", "", self)
			}, "", false, "does not have the memory controller",
		},
		"own group is shared with others": {
			func(h *cgrouptest.Host) { unified(h, "cg/user/app", "cpu memory pids", "", self, 1) }, "", false, "2 processes of its own",
		},
		"nothing is writable": {
			func(*cgrouptest.Host) {}, "", false, "not delegated",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := cgrouptest.NewHost(t)
			h.Mount("/", "cg", "cgroup2", "rw")
			c.prepare(h)
			p, err := Find(t.Context(), system(h, false, "0::/user/app"))
			if c.parent == "" {
				var missing *MissingError
				if !errors.As(err, &missing) || !strings.Contains(err.Error(), c.refusal) {
					t.Fatalf("want a refusal with %q, got %v", c.refusal, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Join(h.Dir, "cg", c.parent, "scidex-oci-x"); p.Plan("x")[0] != want {
				t.Errorf("planned %v, want %s", p.Plan("x"), want)
			}
			if c.cpu && !p.CPU {
				t.Error("the cpu controller was not found")
			}
		})
	}
}

// What systemd manages is not to be used: it takes controllers and groups back.
func TestFindV2StaysInItsUnit(t *testing.T) {
	h := cgrouptest.NewHost(t)
	h.Mount("/", "cg", "cgroup2", "rw")
	unified(h, "cg/app.slice", "cpu memory pids", "cpu memory pids")
	unified(h, "cg/app.slice/x.scope", "cpu memory pids", "cpu memory pids")
	unified(h, "cg/app.slice/x.scope/leaf", "cpu memory pids", "", os.Getpid(), 1)
	sys := system(h, false, "0::/app.slice/x.scope/leaf")
	_, err := Find(t.Context(), sys)
	var missing *MissingError
	if !errors.As(err, &missing) || !missing.Unified {
		t.Errorf("a unit that is not delegated gives %v", err)
	}
	scope := filepath.Join(h.Dir, "cg/app.slice/x.scope")
	if err := unix.Setxattr(scope, "user.delegate", []byte("1"), 0); err != nil {
		t.Skipf("not tested with a delegated unit: the temporary directory takes no extended attributes: %v", err)
	}
	p, err := Find(t.Context(), sys)
	if err != nil {
		t.Fatal(err)
	}
	if want := scope + "/scidex-oci-x"; p.Plan("x")[0] != want {
		t.Errorf("planned %v, want %s", p.Plan("x"), want)
	}
}

// alone in its own group, the launcher moves to a leaf so that the group can hand its controllers down.
func TestFindV2Vacates(t *testing.T) {
	h := cgrouptest.NewHost(t)
	h.Mount("/", "cg", "cgroup2", "rw")
	unified(h, "cg/scope", "cpu memory pids", "", os.Getpid())
	leaf := h.Write("cg/scope/scidex-oci/cgroup.procs", "")
	if _, err := Find(t.Context(), system(h, false, "0::/scope")); err != nil {
		t.Fatal(err)
	}
	if moved, err := os.ReadFile(leaf); err != nil || string(moved) != strconv.Itoa(os.Getpid()) {
		t.Errorf("the leaf's cgroup.procs was written %q (%v)", moved, err)
	}
}

// TestV1Limits: memory is held without swap and with the buffers of TCP, which have counters of their own.
func TestV1Limits(t *testing.T) {
	limits := Limits{Memory: 1 << 30, CPUs: 0.5, Pids: 50}
	for name, memory := range map[string][]string{
		"all":                     {"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes"},
		"without swap accounting": {"memory.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes"},
		"without those of TCP":    {"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"},
	} {
		h := cgrouptest.NewHost(t)
		for _, file := range append([]string{"pids.max", "cpu.cfs_period_us", "cpu.cfs_quota_us"}, memory...) {
			h.Write(file, "")
		}
		g := v1{memory: h.Dir, pids: h.Dir, cpu: h.Dir, cpuacct: h.Dir}
		if err := g.set(limits); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, file := range memory {
			if n, err := cgroupfs.Int(h.Dir, file); err != nil || n != limits.Memory {
				t.Errorf("%s: %s is %d (%v)", name, file, n, err)
			}
		}
		got, err := g.effective()
		if err == nil {
			err = compare(limits, got)
		}
		if err != nil {
			t.Errorf("%s: %+v: %v", name, got, err)
		}
	}
}

func TestV2LimitsAndEvidence(t *testing.T) {
	h := cgrouptest.NewHost(t)
	for file, text := range map[string]string{
		"memory.max": "", "memory.oom.group": "", "pids.max": "", "cpu.max": "", "memory.swap.max": "",
		"memory.current": "10", "memory.peak": "99", "pids.current": "2", "pids.peak": "7",
		"cpu.stat":      "usage_usec 1500000\nnr_periods 9\nnr_throttled 3\nthrottled_usec 2500\n",
		"memory.events": "low 0\noom 2\noom_kill 1\n", "pids.events": "max 4\n",
	} {
		h.Write(file, text+"\n")
	}
	g := v2{dir: h.Dir}
	limits := Limits{Memory: 1 << 30, CPUs: 0.5, Pids: 50}
	if err := g.set(limits); err != nil {
		t.Fatal(err)
	}
	got, err := g.effective()
	if err == nil {
		err = compare(limits, got)
	}
	if err != nil {
		t.Errorf("%+v: %v", got, err)
	}
	if swap, err := cgroupfs.Read(h.Dir, "memory.swap.max"); err != nil || !strings.HasPrefix(swap, "0") {
		t.Errorf("swap is %q (%v)", swap, err)
	}
	usage, err := g.usage()
	if err != nil || usage != (Usage{Memory: 10, MemoryPeak: 99, Pids: 2, PidsPeak: 7, CPU: 1500 * time.Millisecond}) {
		t.Errorf("usage %+v (%v)", usage, err)
	}
	evidence, err := g.evidence()
	if err != nil || evidence != (Evidence{OOMKills: 1, PidsDenied: 4, Throttled: 2500 * time.Microsecond, Periods: 9, ThrottledPeriods: 3, Shortage: Shortage{Own: true}}) {
		t.Errorf("evidence %+v (%v)", evidence, err)
	}
}

func TestCompare(t *testing.T) {
	asked := Limits{Memory: 100_000_000, CPUs: 0.5, Pids: 10}
	for name, c := range map[string]struct {
		got Limits
		ok  bool
	}{
		"exact":               {asked, true},
		"rounded to pages":    {Limits{Memory: 99_999_744, CPUs: 0.5, Pids: 10}, true},
		"memory not applied":  {Limits{Memory: 1 << 62, CPUs: 0.5, Pids: 10}, false},
		"memory a page short": {Limits{Memory: 100_000_000 - int64(os.Getpagesize()), CPUs: 0.5, Pids: 10}, false},
		"no CPU quota":        {Limits{Memory: 100_000_000, Pids: 10}, false},
		"other pids":          {Limits{Memory: 100_000_000, CPUs: 0.5, Pids: 11}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := compare(asked, c.got); (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

// holding is a kernel that accepts every limit and enforces got instead.
type holding struct {
	hierarchy
	got Limits
}

func (holding) set(Limits) error             { return nil }
func (h holding) effective() (Limits, error) { return h.got, nil }

// TestReadBack: limits that the kernel takes and does not hold are an error when they are set, and when they are checked at the end.
func TestReadBack(t *testing.T) {
	asked := Limits{Memory: 1 << 30, CPUs: 0.5, Pids: 10}
	for name, c := range map[string]struct {
		got  Limits
		held bool
	}{
		"held":     {asked, true},
		"no limit": {Limits{Memory: 1 << 62, CPUs: 0.5, Pids: 10}, false},
	} {
		g := &Group{files: holding{got: c.got}}
		if got, err := g.set(asked); (err == nil) != c.held || got != c.got {
			t.Errorf("%s: set: %+v, %v", name, got, err)
		}
		if err := g.Check(); (err == nil) != c.held {
			t.Errorf("%s: check: %v", name, err)
		}
	}
}

// TestKillMembers lays out two groups: of a number that was read before, the process is killed only if the group still has it.
func TestKillMembers(t *testing.T) {
	start := func() *exec.Cmd {
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd
	}
	member, stranger := start(), start()
	h := cgrouptest.NewHost(t)
	unified(h, "group", "", "", member.Process.Pid)
	dir := filepath.Join(h.Dir, "group")
	if err := killMembers(dir, []int{member.Process.Pid, stranger.Process.Pid, 1 << 22}); err != nil {
		t.Fatal(err)
	}
	_ = member.Wait()
	if err := stranger.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = stranger.Wait()
	if got, want := member.ProcessState.String()+", "+stranger.ProcessState.String(), "signal: killed, signal: terminated"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
