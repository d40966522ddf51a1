package e2e

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestNothingGrows runs 2,000 analyses, one launcher each and four at a time, and compares the host's resources before
// and after. (Only a batch has one supervisor for all.)
func TestNothingGrows(t *testing.T) {
	h, n := newHarness(t), 100
	if inSoak() {
		n = 2000
	}
	var mu sync.Mutex
	ids := map[int]int{}
	run := func(int) {
		cmd := h.asUsual("run", "--json", "--id", h.newID(), "--data=none", "--docs=none", "--", "sh", "-c", "echo out >out; echo said")
		stdout, _ := cmd.Output() // the result has the exit code
		r, err := parseResult(stdout)
		if err != nil || r.State != "complete" || r.OutputsTotal != 1 {
			t.Errorf("%v: %s", err, stdout)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		ids[r.Sandbox.UIDOnHost]++
	}
	through(4, 20, run) // what is made once
	names, counts := h.traces(), kernelCounts()
	clear(ids)
	through(4, n, run)
	added := eventually(func() []string {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(h.traces())), func(name string) bool { return names[name] })
	})
	for _, name := range added {
		t.Errorf("left behind: %s", name)
	}
	t.Logf("%d runs had %d ids of the host between them", n, len(ids))
	if theHost.ranged && len(ids) > n/4 {
		t.Errorf("%d runs, four at a time, had %d ids: they are not given back", n, len(ids))
	}
	after := kernelCounts()
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		if after[what] != counts[what] {
			t.Logf("%s: %d before, %d after, of all users", what, counts[what], after[what])
		}
	}
	grown := eventually(func() []string { return grownBy(n/2, counts, kernelCounts()) })
	for _, what := range grown {
		t.Errorf("the kernel has more of them after %d runs: %s", n, what)
	}
}

// traces are the names of what a run may leave: those of this harness, and new ones on the host.
func (h *harness) traces() map[string]bool {
	all := map[string]bool{}
	add := func(kind string, names ...string) {
		for _, name := range names {
			all[kind+" "+name] = true
		}
	}
	add("control group", groupsOf(h.run)...)
	add("directory", matches("/tmp/scidex-analysis-"+h.run+"*")...)
	add("below this process:", orphans()...)
	add("process", processesOf(h.run)...)
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, "scidex") || strings.Contains(line, h.root) {
			add("mount", line)
		}
	}
	for _, path := range slices.Concat(matches("/dev/shm/*"), matches("/dev/mqueue/*")) {
		if info, err := os.Lstat(path); err == nil && int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid() {
			add("in memory:", path)
		}
	}
	add("file", h.filesOfRoot()...)
	return all
}

// filesOfRoot are the files of the root but the catalog's and the blobs.
func (h *harness) filesOfRoot() (files []string) {
	h.t.Helper()
	err := filepath.WalkDir(h.root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path == filepath.Join(h.root, "blobs", "sha256"):
			return filepath.SkipDir
		case !strings.HasPrefix(path, filepath.Join(h.root, "catalog.db")):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return files
}

// kernelObjects are slab caches of slabinfo(5).
var kernelObjects = []string{"net_namespace", "user_namespace", "pid_namespace", "mnt_cache", "nsproxy"}

// kernelCounts counts kernel objects of all users. A user sees fewer of them than root, and no slabinfo(5).
func kernelCounts() map[string]int {
	counts := map[string]int{}
	for _, cache := range kernelObjects {
		// Without this every object of a processor's own slab counts, free or not.
		_ = os.WriteFile(filepath.Join("/sys/kernel/slab", cache, "shrink"), []byte("1"), 0)
	}
	for _, table := range []struct {
		path, what string
		name, at   int // columns
		only       []string
	}{
		{"/proc/key-users", "keys", -1, 1, nil},
		{"/proc/cgroups", "control groups of ", 0, 2, nil},
		{"/proc/slabinfo", "objects of ", 0, 1, kernelObjects},
	} {
		raw, _ := os.ReadFile(table.path) // not everywhere
		for line := range strings.Lines(string(raw)) {
			fields, what := strings.Fields(line), table.what
			if len(fields) <= table.at || table.only != nil && !slices.Contains(table.only, fields[0]) {
				continue
			}
			if table.name >= 0 {
				what += fields[table.name]
			}
			number, _, _ := strings.Cut(fields[table.at], "/")
			if count, err := strconv.Atoi(number); err == nil {
				counts[what] += count
			}
		}
	}
	return counts
}

func grownBy(n int, before, after map[string]int) (grown []string) {
	for what, count := range after {
		if count-before[what] >= n {
			grown = append(grown, fmt.Sprintf("%s: %d, then %d", what, before[what], count))
		}
	}
	return grown
}
