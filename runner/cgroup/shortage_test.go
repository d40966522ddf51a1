package cgroup

import (
	"path/filepath"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgrouptest"
)

// In version 1 the kernel leaves no word of the limit at which it killed but failures and peaks.
func TestShortageV1(t *testing.T) {
	group := func(failed, peak string) map[string]string {
		return map[string]string{
			"memory.limit_in_bytes": "8388608", "memory.failcnt": failed, "memory.max_usage_in_bytes": peak,
			"memory.oom_control": "oom_kill 1", "pids.events": "max 0",
		}
	}
	free := group("0", "4096")
	for name, c := range map[string]struct {
		above, own map[string]string // after the run
		want       Shortage
	}{
		"its own, counted":     {free, group("2", "4096"), Shortage{Own: true}},
		"its own, by the peak": {free, group("0", "8388608"), Shortage{Own: true}},
		"the one above":        {group("1", "8388608"), group("0", "4194304"), Shortage{Outer: 8388608}},
		"both":                 {group("1", "8388608"), group("1", "8388608"), Shortage{Own: true, Outer: 8388608}},
		"neither":              {free, free, Shortage{}},
	} {
		t.Run(name, func(t *testing.T) {
			h := cgrouptest.NewHost(t)
			h.Files("m", free)
			h.Files("m/run", free)
			files := v1{memory: filepath.Join(h.Dir, "m/run"), pids: filepath.Join(h.Dir, "m/run")}
			g := &Group{files: files, above: cgroupfs.Chain{Dirs: cgroupfs.Ancestors(filepath.Join(h.Dir, "m"))}}
			g.before = g.above.Reached()
			h.Files("m", c.above)
			h.Files("m/run", c.own)
			if e, err := g.Evidence(); err != nil || e.Shortage != c.want || e.OOMKills != 1 {
				t.Errorf("%+v (%v), want %+v", e, err, c.want)
			}
		})
	}
}

// A kill is counted in the group of the killed process, at any group's limit.
func TestShortageV2(t *testing.T) {
	for name, c := range map[string]struct {
		above, own string
		want       Shortage
	}{
		"its own":                       {"oom 3", "oom 1\noom_kill 4", Shortage{Own: true}},
		"its own, and a neighbour's":    {"oom 9", "oom 1\noom_kill 4", Shortage{Own: true}},
		"the one above":                 {"oom 4", "oom 0\noom_kill 4", Shortage{Outer: 8192}},
		"the host's or an unseen group": {"oom 3", "oom 0\noom_kill 4", Shortage{}},
	} {
		t.Run(name, func(t *testing.T) {
			h := cgrouptest.NewHost(t)
			h.Files("m", map[string]string{"memory.max": "8192", "memory.events.local": "oom 3"})
			h.Files("m/run", map[string]string{"pids.events": "max 0", "cpu.stat": ""})
			above := cgroupfs.Chain{Unified: true, Dirs: cgroupfs.Ancestors(filepath.Join(h.Dir, "m"))}
			g := &Group{files: v2{filepath.Join(h.Dir, "m/run")}, above: above, before: above.Reached()}
			h.Files("m", map[string]string{"memory.events.local": c.above})
			h.Files("m/run", map[string]string{"memory.events": c.own})
			if e, err := g.Evidence(); err != nil || e.Shortage != c.want || e.OOMKills != 4 {
				t.Errorf("%+v (%v), want %+v", e, err, c.want)
			}
		})
	}
}

func TestSwapping(t *testing.T) {
	titles, area := "Filename Type Size Used Priority\n", "/dev/sda2 partition 1 0 -2\n"
	for name, c := range map[string]struct {
		swaps string // of the host; empty: its kernel has none
		file  string // that the group has
		want  bool
	}{
		"held by version 1":          {titles + area, "memory.memsw.limit_in_bytes", false},
		"held by version 2":          {titles + area, "memory.swap.max", false},
		"not accounted for":          {titles + area, "memory.limit_in_bytes", true},
		"the host has none":          {titles, "memory.limit_in_bytes", false},
		"a kernel without swap":      {"", "memory.limit_in_bytes", false},
		"not accounted, two of them": {titles + area + area, "memory.max", true},
	} {
		t.Run(name, func(t *testing.T) {
			h := cgrouptest.NewHost(t)
			if c.swaps != "" {
				h.Write("proc/swaps", c.swaps)
			}
			h.Write("g/"+c.file, "0")
			dir, proc := filepath.Join(h.Dir, "g"), filepath.Join(h.Dir, "proc")
			for version, files := range map[int]hierarchy{1: v1{memory: dir}, 2: v2{dir}} {
				want := c.want
				if version == 1 && c.file == "memory.swap.max" || version == 2 && c.file == "memory.memsw.limit_in_bytes" {
					want = true // the other version's file holds nothing
				}
				if got := (&Group{files: files}).swapping(proc); got != want {
					t.Errorf("version %d: %v, want %v", version, got, want)
				}
			}
		})
	}
}
