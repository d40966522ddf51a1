package e2e

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// most is a memory limit that two analyses cannot have at once on this host.
func most(t *testing.T) string {
	t.Helper()
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(uint64(info.Totalram) * uint64(info.Unit) / 10 * 6)
}

// TestServeAccount: analyses of three engines that do not fit together run one after the other, and the memory of a
// killed engine is free for the others.
func TestServeAccount(t *testing.T) {
	h := newHarness(t)
	runtime := h.path("runtime") // not that of other tests' engines
	if err := os.Mkdir(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	h.setenv("XDG_RUNTIME_DIR", runtime)
	killed, others := h.serve(), []*served{h.serve(), h.serve()}
	large := map[string]any{"memory": most(t)}
	holds := h.id("holds")
	killed.call("submit", killed.stays(holds, large))
	h.logged(holds, "ready")
	const each = 6
	var ids []string
	for i := range each * len(others) {
		s, id := others[i%len(others)], h.id(fmt.Sprint("r", i))
		s.call("submit", map[string]any{"id": id, "memory": large["memory"], "command": []string{"sleep", "0.02"}})
		if r := s.result(s.call("show", map[string]any{"id": id})); r.State != "queued" {
			t.Errorf("%s is %s beside one that has more than half of the memory", id, r.State)
		}
		ids = append(ids, id)
	}
	before := time.Now()
	h.tell(killed.cmd, syscall.SIGKILL)
	_ = killed.cmd.Wait() // it was killed
	var runs []result
	for i, id := range ids {
		s := others[i%len(others)]
		r := s.result(s.call("wait", map[string]any{"id": id}))
		r.expect(t, "complete", "exit", 0)
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b result) int { return cmp.Compare(a.StartedAt.UnixNano(), b.StartedAt.UnixNano()) })
	for _, r := range runs {
		if r.StartedAt.Before(before) {
			t.Errorf("%s was started at %v, and the other engine was killed at %v", r.ID, r.StartedAt, before)
		}
		before = r.StartedAt.Add(time.Duration(r.Usage.WallMS) * time.Millisecond)
	}
	for _, s := range others {
		s.close(0)
	}
	h.collectUntilNothingIsLeft()
}

// TestServeAccountRefused: if the account cannot be counted, only an engine that counts its own runs starts.
func TestServeAccountRefused(t *testing.T) {
	h := newHarness(t)
	runtime := h.path("runtime")
	host, err := os.Hostname()
	if err == nil {
		err = os.Mkdir(runtime, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	file := h.write("runtime/scidex-oci-engines."+host, "", 0o644)
	h.setenv("XDG_RUNTIME_DIR", runtime)
	h.mustRefuse([]string{"serve", "--stdio"}, file, "others may use it (mode 0644)", "remove it", "--jobs")
	s := h.serve("--jobs=1")
	s.result(s.call("run", map[string]any{"command": []string{"true"}})).expect(t, "complete", "exit", 0)
	s.close(0)
}
