package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// openFiles is the usual limit of open files, soft and hard.
const openFiles = 1024

// sleepingMemory is the most that launcher, supervisor and init of a waiting run may have if there are 200, as in a
// soak: the more there are, the more they share.
const sleepingMemory = 15 << 20

// asUsual is a command of scidex-oci with the usual limit of open files.
func (h *harness) asUsual(args ...string) *exec.Cmd {
	h.t.Helper()
	limit := fmt.Sprintf("--nofile=%d:%[1]d", openFiles)
	return h.command("prlimit", append(flags(limit, "--", theHost.bin), args...)...)
}

// through calls do for 0 to n-1, so many of them at a time.
func through(atATime, n int, do func(i int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range atATime {
		workers.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}

// TestManyThroughEight runs 500 analyses, eight at a time: every result is right.
func TestManyThroughEight(t *testing.T) {
	h, n := newHarness(t), soakCount(500)
	through(8, n, func(i int) {
		cmd := h.asUsual("run", "--json", "--id", h.id(strconv.Itoa(i)), "--data=none", "--docs=none", "--", "sh", "-c",
			`echo "in $0"; expr $0 \* $0 >square; seq $0 >list; exit $(($0 % 2))`, strconv.Itoa(i))
		h.expectSquare(cmd, i)
	})
	lines := strings.Fields(h.mustRun("ls", "--quiet", "--limit", "0").stdout)
	slices.Sort(lines)
	if len(slices.Compact(lines)) != n {
		t.Errorf("the catalog has %d runs, want %d", len(lines), n)
	}
	h.mustRun("catalog", "check", "--digests")
	h.touched(h.gc())
}

// expectSquare checks the run of a number: that of an odd one fails. It is called by several goroutines at once, none
// of which may end the test.
func (h *harness) expectSquare(cmd *exec.Cmd, i int) {
	stdout, _ := cmd.Output() // the result has the exit code
	r, err := parseResult(stdout)
	if err != nil {
		h.t.Errorf("run %d: %v: %s", i, err, stdout)
		return
	}
	r.expect(h.t, []string{"complete", "failed"}[i%2], "exit", i%2)
	list := ""
	for k := 1; k <= i; k++ {
		list += fmt.Sprintln(k)
	}
	for path, want := range map[string]string{"square": fmt.Sprintln(i * i), "list": list} {
		if got, err := os.ReadFile(h.blobPath(r.output(path).SHA256)); err != nil || string(got) != want {
			h.t.Errorf("run %d: %s is %q (%v), want %q", i, path, got, err, want)
		}
	}
	if said, err := os.ReadFile(h.blobPath(r.Logs.Stdout.SHA256)); err != nil || string(said) != fmt.Sprintf("in %d\n", i) || r.OutputsTotal != 2 {
		h.t.Errorf("run %d said %q (%v) and has %d outputs", i, said, err, r.OutputsTotal)
	}
}

// touched checks that a gc had nothing to do.
func (h *harness) touched(c collected) {
	h.t.Helper()
	if len(c.Lost)+len(c.Removed)+len(c.Kept) > 0 {
		h.t.Errorf("gc found %+v", c)
	}
}

// TestManySleeping lets 200 analyses wait at once, 20 in CI: each has three processes of scidex-oci, and all results
// are right. If SCIDEX_OCI_SOAK is set, the memory of these is bounded.
func TestManySleeping(t *testing.T) {
	h, n := newHarness(t), soakCount(200)
	h.mustRun("ls") // makes the catalog
	end := h.flag()
	var launches []*launch
	for range n {
		id := h.newID()
		launches = append(launches, h.follow(id, h.asUsual(runWith(id, flags("--timeout=1h", "--input", end.input(), "--", "sh", "-c",
			`echo ready; until [ -s /inputs/flag ]; do sleep 1; done; echo "$0" >own`, id))...)))
	}
	for _, l := range launches {
		l.await("ready")
	}
	h.expectSmall(launches)
	end.raise()
	for _, l := range launches {
		r := l.wait()
		r.expect(t, "complete", "exit", 0)
		if got := h.blob(r.output("own").SHA256); got != l.id+"\n" {
			t.Errorf("%s wrote %q", l.id, got)
		}
	}
	h.mustRun("catalog", "check", "--digests")
	h.touched(h.gc())
}

// expectSmall sums the memory of the processes of scidex-oci, and checks that there are three for each run.
func (h *harness) expectSmall(launches []*launch) {
	t := h.t
	ours := map[int]string{}
	for _, l := range launches {
		ours[l.cmd.Process.Pid] = "launcher"
	}
	children := map[int][]process{}
	processes(func(p process) bool { children[p.parent] = append(children[p.parent], p); return false })
	for _, l := range launches {
		for _, supervisor := range children[l.cmd.Process.Pid] {
			ours[supervisor.pid] = "supervisor"
			for _, below := range children[supervisor.pid] {
				ours[below.pid] = "init"
			}
		}
	}
	sums, unread := map[string]int64{}, 0
	for pid, what := range ours {
		size, err := proportional(pid)
		if err != nil {
			unread++
		}
		sums[what] += size
	}
	n := int64(len(launches))
	all := (sums["launcher"] + sums["supervisor"] + sums["init"]) / n
	t.Logf("%d runs wait, %d processes are ours; in KiB for each run: launcher %d, supervisor %d, init %d, all %d",
		n, len(ours), sums["launcher"]/n>>10, sums["supervisor"]/n>>10, sums["init"]/n>>10, all>>10)
	if len(ours) != 3*len(launches) {
		t.Errorf("%d processes are ours, want 3 for each of %d runs", len(ours), n)
	}
	if unread > 0 && theHost.root {
		t.Errorf("the memory of %d processes cannot be read", unread)
	} else if unread > 0 {
		t.Logf("not covered here: the memory of %d processes cannot be read by this user", unread)
	}
	if inSoak() && all > sleepingMemory {
		t.Errorf("a run that waits costs %d bytes, more than %d", all, sleepingMemory)
	}
}

// proportional is the memory of a process, with shared pages divided by the number of processes that share them (Pss of
// proc_pid_smaps(5)).
func proportional(pid int) (int64, error) {
	file, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		if text, found := strings.CutPrefix(scanner.Text(), "Pss:"); found {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no Pss: %w", pid, scanner.Err())
}
