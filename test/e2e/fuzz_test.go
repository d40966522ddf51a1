package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fuzzer is a program of others that makes calls which no analysis makes.
type fuzzer struct {
	script string
	rounds int                                // of CI
	round  func(t *testing.T, n int) []string // the arguments of the n-th run
	last   []string                           // of a run that only its timeout ends
	count  *regexp.Regexp                     // what it says of its own work: a number of calls or operations
	least  int                                // of them in CI's rounds
}

var fuzzers = map[string]fuzzer{
	"trinity": {
		script: "trinity.sh", rounds: 3, round: trinityRound, last: flags("1", "0", "--enable-fds="+trinityFiles),
		count: regexp.MustCompile(`Ran (\d+) syscalls\.`), least: 1000,
	},
	"stress-ng": {
		script: "stress-ng.sh", rounds: 1, round: stressRound, last: flags("timeout", "1000", "enosys", "sysbadaddr"),
		count: regexp.MustCompile(`metrc: \[\d+\] \S+ +(\d+) +[\d.]+ +[\d.]+ `), least: 200,
	},
}

// trinityFiles are the descriptors that trinity can make in a run. It waits for ever for those of perf.
const trinityFiles = "pipes,epoll,eventfd,timerfd,memfd,testfile,pseudo"

// trinityRound is another seed each time, and files, IPv4 and IPv6 sockets in turn.
func trinityRound(_ *testing.T, n int) []string {
	calls := 500
	if inSoak() {
		calls = 20000
	}
	kind := [][]string{
		{"--enable-fds=" + trinityFiles}, {"--enable-fds=sockets", "-P", "PF_INET"}, {"--enable-fds=sockets", "-P", "PF_INET6"},
	}[n%3]
	return append(flags(strconv.Itoa(fuzzSeed()+n), strconv.Itoa(calls)), kind...)
}

// fuzzSeed is what scripts/test --seed repeats; trinity's order of calls is not the same again, since it has several processes.
func fuzzSeed() int {
	seed, _ := strconv.Atoi(os.Getenv("SCIDEX_OCI_SEED")) // 0 if it is not set
	return seed % 1e6
}

// stressors are those of CI: of the kernel's interfaces, and none that takes seconds for its first operation.
var stressors = strings.Fields("enosys sysbadaddr sysinfo procfs clone ptrace sockabuse seccomp unshare userfaultfd pidfd set")

// stressRound is all of CI's by a count of operations; in scripts/soak eight of all that there are, two seconds each.
func stressRound(t *testing.T, n int) []string {
	t.Helper()
	if !inSoak() {
		return append(flags("ops", "20"), stressors...)
	}
	out, err := exec.Command("stress-ng", "--stressors").Output() // lists them
	if err != nil {
		t.Fatal(err)
	}
	// vm-segv waits for ever for a child that it may not trace.
	names := slices.DeleteFunc(strings.Fields(string(out)), func(name string) bool { return name == "vm-segv" })
	all := slices.Collect(slices.Chunk(names, 8))
	return append(flags("timeout", "2"), all[n%len(all)]...)
}

// fuzzLength is how long each fuzzer works in scripts/soak: SCIDEX_OCI_SOAK if that is a duration, or 15 minutes. In CI
// rounds are counted.
func fuzzLength() time.Duration {
	length, err := time.ParseDuration(os.Getenv("SCIDEX_OCI_SOAK"))
	switch {
	case !inSoak():
		return 0
	case err != nil:
		return 15 * time.Minute
	}
	return length
}

// TestFuzzers runs trinity and stress-ng as analyses: each run ends with the right verdict, another run is not
// disturbed, and the host does not change.
func TestFuzzers(t *testing.T) {
	for name, f := range fuzzers {
		t.Run(name, func(t *testing.T) { testFuzzer(t, f) })
	}
}

func testFuzzer(t *testing.T, f fuzzer) {
	h := newHarness(t)
	earlier := h.start("--id", h.newID(), "--", "sh", "-c", "echo kept >kept")
	w, s := h.watchHost(), h.newSibling()
	sum := tally{}
	for n, begin := 0, time.Now(); n < f.rounds || time.Since(begin) < fuzzLength(); n++ {
		r := f.run(h, sum, "2m", f.round(t, n))
		expectRight(t, r, "complete", sum)
		s.expectUntouched(t)
		w.compare(t)
	}
	r := f.run(h, sum, map[bool]string{false: "3s", true: "60s"}[inSoak()], f.last)
	expectRight(t, r, "failed/timeout", sum)
	s.finish(t)
	w.compare(t)
	h.expectKept(t, earlier)
	if sum["calls"] < f.least {
		t.Errorf("control: it says that it made %d calls or operations, want %d", sum["calls"], f.least)
	}
	fmt.Printf("%s: %v\n", f.script, map[string]int(sum))
}

// run is one run of the fuzzer, whose own words are counted. None of its processes is left.
func (f fuzzer) run(h *harness, sum tally, timeout string, args []string) result {
	h.t.Helper()
	dir := testdata(h.t, "fuzz")
	l := h.launch(h.newID(), slices.Concat(flags("--timeout="+timeout, "--memory=1GiB", "--pids=200", "--cpus=1", "--work-size=512MiB",
		"--data=none", "--docs=none", "--project="+dir, "--script="+filepath.Join(dir, f.script)), args)...)
	l.await("begin")
	inside := l.namespaces()
	r := l.wait()
	for _, left := range eventually(func() []string { return processes(inside.has) }) {
		h.t.Errorf("it outlived its run: %s", left)
	}
	for _, said := range f.count.FindAllStringSubmatch(h.stdoutOf(r)+h.stderrOf(r), -1) {
		n, _ := strconv.Atoi(said[1]) // digits
		sum["calls"] += n
	}
	return r
}

// expectRight checks the verdict. A limit may have ended the run first, if the kernel counted that.
func expectRight(t *testing.T, r result, want string, sum tally) {
	t.Helper()
	got := r.State
	if r.State == "failed" {
		got += "/" + r.Reason
	}
	sum["runs"]++
	sum[got]++
	limit := got == "failed/out_of_memory" && r.Evidence.OOMKills > 0 || got == "failed/pids_limit" && r.Evidence.PidsDenied > 0
	if got == want || limit && inSoak() {
		return
	}
	t.Errorf("%s: %s, want %s", got, r.Message, want)
}

// expectKept checks that an earlier run is as it was, and every blob of the catalog.
func (h *harness) expectKept(t *testing.T, earlier result) {
	t.Helper()
	h.mustRun("catalog", "check", "--digests")
	if now := h.show(earlier.ID); fmt.Sprintf("%+v", now.Outputs) != fmt.Sprintf("%+v", earlier.Outputs) {
		t.Errorf("an earlier run has outputs %+v, had %+v", now.Outputs, earlier.Outputs)
	}
	if got := h.blob(earlier.output("kept").SHA256); got != "kept\n" {
		t.Errorf("an earlier output is %q", got)
	}
}
