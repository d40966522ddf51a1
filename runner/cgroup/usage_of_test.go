package cgroup

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestUsageOf: a group of either version is read by its directories, in whatever order.
func TestUsageOf(t *testing.T) {
	group := func(files map[string]string) string {
		dir := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	unified := group(map[string]string{"memory.current": "10", "pids.current": "2", "cpu.stat": "usage_usec 1500000"})
	memory := group(map[string]string{"memory.usage_in_bytes": "10", "memory.max_usage_in_bytes": "12"})
	pids := group(map[string]string{"pids.current": "2"})
	cpu := group(map[string]string{"cpuacct.usage": "1500000000"})
	for name, tt := range map[string]struct {
		dirs []string
		want Usage
	}{
		"version 2":                  {[]string{unified}, Usage{Memory: 10, Pids: 2, CPU: 1500 * time.Millisecond}},
		"version 1":                  {[]string{cpu, memory, pids}, Usage{Memory: 10, MemoryPeak: 12, Pids: 2, CPU: 1500 * time.Millisecond}},
		"version 1, without cpuacct": {[]string{pids, memory}, Usage{Memory: 10, MemoryPeak: 12, Pids: 2}},
	} {
		if got, err := UsageOf(tt.dirs); err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, tt.want)
		}
	}
	for name, dirs := range map[string][]string{"none": nil, "one that is gone": {filepath.Join(unified, "gone")}, "no memory": {pids, cpu}} {
		if got, err := UsageOf(dirs); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
