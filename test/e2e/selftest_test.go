package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// selftestReport is what `selftest --json` prints, as docs/schema/selftest.json promises it.
type selftestReport struct {
	Passed       bool     `json:"passed"`
	Host         string   `json:"host"`
	Kernel       string   `json:"kernel"`
	BootID       string   `json:"boot_id"`
	PolicySHA256 string   `json:"policy_sha256"`
	Runs         []string `json:"runs"`
	Checks       []struct {
		Check, Target, Result, Detail, Control string
	} `json:"checks"`
	Notes []string `json:"notes"`
}

// list names the checks with the result, the whole line of each.
func (r selftestReport) list(result string) (lines []string) {
	for _, c := range r.Checks {
		if c.Result == result {
			lines = append(lines, fmt.Sprintf("%s %s: %s (%s)", c.Check, c.Target, c.Detail, c.Control))
		}
	}
	return lines
}

// has reports whether a check of the kind whose target holds the text has the result.
func (r selftestReport) has(check, target, result string) bool {
	for _, c := range r.Checks {
		if c.Check == check && strings.Contains(c.Target, target) && c.Result == result {
			return true
		}
	}
	return false
}

// selftest runs `selftest --json`, which must end with the code, and reads what it printed.
func (h *harness) selftest(code int, args ...string) selftestReport {
	h.t.Helper()
	return h.selftestOf(theHost.bin, code, args...)
}

func (h *harness) selftestOf(bin string, code int, args ...string) selftestReport {
	h.t.Helper()
	out := h.finish(h.command(bin, append([]string{"selftest", "--json"}, args...)...))
	r, err := parseSelftest([]byte(out.stdout))
	if err != nil {
		h.t.Fatalf("selftest %q: exit code %d, %v\n%s%s", args, out.code, err, out.stdout, out.stderr)
	}
	if out.code != code {
		h.t.Fatalf("selftest %q: exit code %d, want %d\nfail: %s\ninconclusive: %s\n%s", args, out.code, code,
			strings.Join(r.list("fail"), "\n"), strings.Join(r.list("inconclusive"), "\n"), out.stderr)
	}
	if r.Passed != (code == 0) {
		h.t.Errorf("exit code %d, passed %v", code, r.Passed)
	}
	h.checkGone(r.Runs)
	return r
}

// checkGone checks that nothing is left of the runs and of the canaries' inputs.
func (h *harness) checkGone(runs []string) {
	h.t.Helper()
	for _, run := range runs {
		if left := leftovers(run, h.root); len(left) > 0 {
			h.t.Errorf("left behind: %q", left)
		}
		test := run[:strings.LastIndex(run, "-")]
		if left := matches("/tmp/scidex-oci-" + test + "*"); len(left) > 0 {
			h.t.Errorf("left behind: %q", left)
		}
	}
}

// parseSelftest reads a report and holds it against the schema.
func parseSelftest(raw []byte) (r selftestReport, err error) {
	err = decode("selftest.json", raw, &r)
	return r, err
}

// TestSelftestPasses has a real PostgreSQL on its addresses and sockets, and everything out of reach.
func TestSelftestPasses(t *testing.T) {
	h, db := newHarness(t), theDatabase(t)
	h.write("data/table.csv", "1,2\n", 0o666)
	h.write("docs/sub/read.me", "text", 0o666)
	h.write("input", "text", 0o666)
	h.setenv("PGPASSWORD", "hunter2")
	args := []string{
		"--target", "postgres://" + db.User + ":hunter2@localhost:" + db.port() + "/" + db.Database, "--input", h.path("input"),
		"--memory", "512MiB", "--pids", "60", "--timeout", "5m", "--env", "GIVEN=1", "--secret", "PGPASSWORD",
		"--workdir", "/job",
	}
	want := []string{"127.0.0.1:" + db.port(), "localhost:" + db.port()}
	for _, host := range addresses(t) {
		address := net.JoinHostPort(host, db.port())
		args, want = append(args, "--target", address), append(want, address)
	}
	for _, socket := range db.Sockets {
		args, want = append(args, "--target", socket), append(want, socket)
	}
	r := h.selftest(0, args...)
	for _, target := range want {
		if !r.has("tcp", target, "pass") && !r.has("socket", target, "pass") {
			t.Errorf("%s was not tried: %q", target, r.list("pass"))
		}
	}
	checkCovered(t, r)
	if r.Host == "" || r.Kernel == "" || r.BootID == "" {
		t.Errorf("host %q, kernel %q, boot %q", r.Host, r.Kernel, r.BootID)
	}
	h.checkLast(r)
	h.checkListed(r)
}

// checkCovered checks that the report has every kind of check, and each limit as proven or, if it cannot be enforced, as such.
func checkCovered(t *testing.T, r selftestReport) {
	t.Helper()
	for _, c := range []struct{ check, target string }{
		{"canary", "-reach"},
		{"canary", "-neighbour"},
		{"tcp", "a listener of ours"},
		{"dns", "a listener of ours"},
		{"socket", "@"},
		{"write", "/data"},
		{"change", "/data/table.csv"},
		{"sockets", "/data"},
		{"write", "/docs"},
		{"change", "/docs/sub/read.me"},
		{"change", "/inputs/input"},
		{"write", "/"},
		{"sockets", "/"},
		{"descriptors", "0 to 2"},
		{"environment", "variables"},
		{"privileges", "status"},
		{"privileges", "system calls"},
		{"privileges", "user namespaces"},
		{"privileges", "address families"},
		{"processes", "in /proc"},
		{"processes", "signal to "},
		{"processes", "/proc/1/mem"},
		{"processes", "/proc/1/fd"},
		{"neighbour", "process of "},
		{"neighbour", "shared memory of "},
		{"neighbour", "/tmp/scidex-analysis-"},
		{"limit", "memory 512MiB"},
		{"limit", "pids 60"},
		{"limit", "timeout"},
		{"limit", "tmp 256MiB"},
		{"limit", "log_size"},
		{"limit", "work_size 1GiB"},
		{"limit", "work_files 100000"},
	} {
		if !r.has(c.check, c.target, "pass") {
			t.Errorf("no pass of %s %s", c.check, c.target)
		}
	}
	// Without a control group this limit is not enforced, and the suite uses best effort.
	if cpus := map[bool]string{true: "pass", false: "accepted"}[theHost.cgroup]; !r.has("limit", "cpus", cpus) {
		t.Errorf("no %s of limit cpus: %q", cpus, r.list("accepted"))
	}
	if !theHost.cgroup {
		return
	}
	if accepted := r.list("accepted"); len(accepted) > 0 {
		t.Errorf("accepted: %q", accepted)
	}
}

// checkLast checks that the stored report is the printed one, without the password.
func (h *harness) checkLast(r selftestReport) {
	h.t.Helper()
	out := h.mustRun("selftest", "--last", "--json")
	last, err := parseSelftest([]byte(out.stdout))
	if err != nil {
		h.t.Fatal(err)
	}
	if !slices.Equal(last.Runs, r.Runs) || len(last.Checks) != len(r.Checks) || last.PolicySHA256 != r.PolicySHA256 {
		h.t.Errorf("the last report is %+v, want %+v", last, r)
	}
	text := h.mustRun("selftest", "--last").stdout
	if lines := strings.Count(text, "\n"); lines != len(r.Checks)+len(r.Notes)+1 || !strings.Contains(text, "\npassed: ") {
		h.t.Errorf("%d lines for %d checks:\n%s", lines, len(r.Checks), text)
	}
	if strings.Contains(out.stdout+text, "hunter2") {
		h.t.Error("the password of a target is shown")
	}
}

// checkListed checks that the runs of a selftest can be distinguished from others.
func (h *harness) checkListed(r selftestReport) {
	h.t.Helper()
	id := strings.TrimSuffix(r.Runs[0], "-reach")
	listed := strings.Fields(h.mustRun("ls", "--quiet", "--label", "ai.scidex.selftest="+id).stdout)
	slices.Sort(listed)
	want := slices.Clone(r.Runs)
	slices.Sort(want)
	if !slices.Equal(listed, want) {
		h.t.Errorf("listed %q, want %q", listed, want)
	}
}

// A target that answers outside, as the host itself notices, is out of reach.
func TestSelftestTarget(t *testing.T) {
	h := newHarness(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	came := make(chan struct{}, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			came <- struct{}{}
			c.Close()
		}
	}()
	// What the canaries are given is no bind of the caller's.
	config := h.write("config.yaml", "allow_binds: []\n", 0o644)
	r := h.selftest(0, "--config", config, "--target", "tcp://"+l.Addr().String())
	if !r.has("tcp", l.Addr().String(), "pass") {
		t.Errorf("%q", r.list("pass"))
	}
	if n := len(came); n != 1 {
		t.Errorf("the target was reached %d times, want once, by the control", n)
	}
}

// A target that does not answer outside proves nothing inside, and is no pass.
func TestSelftestInconclusive(t *testing.T) {
	h := newHarness(t)
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := gone.Addr().String()
	gone.Close()
	r := h.selftest(1, "--target", address, "--target", h.path("none"))
	for _, target := range []string{address, h.path("none")} {
		if !r.has("tcp", target, "inconclusive") && !r.has("socket", target, "inconclusive") {
			t.Errorf("%s: %+v", target, r.Checks)
		}
	}
	if n := len(r.list("inconclusive")); n != 2 || len(r.list("fail")) != 0 {
		t.Errorf("inconclusive: %q, fail: %q", r.list("inconclusive"), r.list("fail"))
	}
	// A failed report is stored, and has the same exit code when it is shown.
	out := h.do("selftest", "--last")
	if out.code != 1 || !strings.Contains(out.stdout, "\nNOT passed: ") || !strings.Contains(out.stdout, "inconclusive  tcp") {
		t.Errorf("exit code %d\n%s%s", out.code, out.stdout, out.stderr)
	}
}

// The lines for a person are printed while the test goes on.
func TestSelftestForAPerson(t *testing.T) {
	h := newHarness(t)
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out := h.mustRun("selftest", "--target", l.Addr().String())
	if !strings.Contains(out.stdout, "pass          socket       "+l.Addr().String()+": ENOENT (control: reached outside)\n") ||
		!strings.Contains(out.stdout, "\npassed: ") || strings.Contains(out.stdout, "\x1b") || out.stderr != "" {
		t.Errorf("%s%s", out.stdout, out.stderr)
	}
	h.checkGone(strings.Fields(h.mustRun("ls", "-q").stdout))
}

func TestSelftestRefuses(t *testing.T) {
	h := newHarness(t)
	for _, c := range []struct {
		args  []string
		words []string
	}{
		{[]string{"--target", "nowhere"}, []string{"--target", "nowhere", "HOST:PORT"}},
		{[]string{"--target", "udp://h:53"}, []string{"--target", "tcp"}},
		{[]string{"--target", "postgres://user:hunter2@h:x/db"}, []string{"--target", "port"}},
		{[]string{"--memory", "much"}, []string{"--memory", "much"}},
		{[]string{"--data", "none-such"}, []string{"--data", "none-such"}},
		{[]string{"--memry", "1GiB"}, []string{"--memry", "--memory"}},
		{[]string{"--script", "x"}, []string{"--script"}},
		{[]string{"word"}, []string{"takes none"}},
		{[]string{"--last"}, []string{"no selftest yet"}},
	} {
		out := h.mustRefuse(append([]string{"selftest"}, c.args...), c.words...)
		if strings.Contains(out.stderr, "hunter2") || out.stdout != "" {
			t.Errorf("%q: %s%s", c.args, out.stdout, out.stderr)
		}
	}
	if runs := h.mustRun("ls", "-q").stdout; runs != "" {
		t.Errorf("there are runs: %q", runs)
	}
}

// The canary does nothing if it is started by hand.
func TestSelftestCanaryByHand(t *testing.T) {
	h := newHarness(t)
	h.setenv("SCIDEX_ANALYSIS_ID", "x")
	h.mustRefuse([]string{"selftest-canary", "x"}, "only selftest starts a canary")
	if entries, err := os.ReadDir(h.dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// A selftest that is stopped leaves nothing and proves nothing.
func TestSelftestStops(t *testing.T) {
	h := newHarness(t)
	cmd := h.command(theHost.bin, "selftest", "--json", "--target", "127.0.0.1:1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var runs []string
	until(t, hangTimeout, "a limit is being tried", func() bool {
		runs = strings.Fields(h.do("ls", "-q").stdout)
		return slices.ContainsFunc(runs, func(run string) bool { return strings.HasSuffix(run, "-scratch") })
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code is checked
	if code := cmd.ProcessState.ExitCode(); code != 130 || stdout.Len() > 0 {
		t.Errorf("exit code %d\n%s%s", code, stdout.String(), stderr.String())
	}
	checkSentence(t, stderr.String(), "SIGINT", "nothing is proven")
	h.mustRefuse([]string{"selftest", "--last"}, "no selftest yet")
	h.checkGone(runs)
}

// A selftest that is killed leaves nothing that the next one, or gc, does not remove.
func TestSelftestKilled(t *testing.T) {
	h := newHarness(t)
	cmd := h.command(theHost.bin, "selftest", "--target", "127.0.0.1:1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var left []string
	until(t, hangTimeout, "the canaries run", func() bool {
		runs := strings.Fields(h.do("ls", "-q", "--state", "running").stdout)
		if len(runs) == 0 {
			return false
		}
		left = matches("/tmp/scidex-oci-" + runs[0][:strings.LastIndex(runs[0], "-")])
		return len(left) == 1
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	// Its directory in /tmp may be gone: another test's gc removes it as well.
	if len(matches(filepath.Join(h.root, "runs", "selftest-*.json"))) == 0 {
		t.Fatal("nothing is left")
	}
	runs := strings.Fields(h.mustRun("ls", "-q").stdout)
	until(t, 20*time.Second, "gc removes what is left", func() bool {
		h.do("gc") // processes of the killed runs may take a moment to end, and the supervisor holds an ingest directory
		held := matches(filepath.Join(h.root, "blobs", "ingest", "selftest-*"))
		return len(matches(left[0])) == 0 && len(held) == 0 && h.mustRun("ls", "-q", "--state", "running").stdout == ""
	})
	h.checkGone(runs)
}

// testholeBinary is the binary with a deliberate hole.
func testholeBinary(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("SCIDEX_OCI_TESTHOLE")
	if bin == "" {
		t.Fatal("SCIDEX_OCI_TESTHOLE does not name the binary that was built with the tag testhole; run scripts/test, which builds it and sets that")
	}
	return bin
}

// TestSelftestFindsTheBreach opens the hole, a directory with a socket that is bound like any other, and checks that it
// is found and named.
func TestSelftestFindsTheBreach(t *testing.T) {
	bin := testholeBinary(t)
	h, db := newHarness(t), theDatabase(t)
	for _, socket := range db.Sockets {
		if !strings.HasPrefix(socket, "/") || filepath.Dir(socket) == "/tmp" {
			continue // /tmp holds the run's own directory
		}
		dir := filepath.Dir(socket)
		r := h.selftestOf(bin, 1, "--data", dir, "--target", socket)
		failed := r.list("fail")
		if len(failed) != 1 || !strings.HasPrefix(failed[0], "sockets /data: ") || !strings.Contains(failed[0], socket) {
			t.Errorf("fail: %q, want one, which names %s", failed, socket)
		}
		// The same without the hole: the run is refused.
		h.mustRefuse([]string{"selftest", "--data", dir, "--target", socket}, "--data", dir)
	}
}
