// Package e2e drives the real binary: as root, as an ordinary user with a range of ids in /etc/subuid and as one
// without, each by a run of the whole suite as that user (scripts/test). If the expected result differs between them, a
// test says so by the conditions in host; no test is skipped silently.
package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// host describes the machine and the user that the suite runs as.
type host struct {
	bin    string // the binary under test
	root   bool   // the user is the host's root
	ranged bool   // runs get ids of their own
	cgroup bool   // the kernel enforces limits: the defaults of `run` can be enforced
}

// conditions of scripts: [root], [range], [cgroup].
func (h host) condition(name string) (bool, error) {
	switch name {
	case "root":
		return h.root, nil
	case "range":
		return h.ranged, nil
	case "cgroup":
		return h.cgroup, nil
	}
	return false, fmt.Errorf("no such condition; there are root, range and cgroup")
}

// theHost is set once by TestMain.
var theHost host

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && waitingCalls[os.Args[1]] != nil {
		fail(startUnderListener(listenerFilter(waitingCalls[os.Args[1]]), os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == underClock {
		fail(startUnderListener(clockFilter(), os.Args[2:]))
	}
	if len(os.Args) > 4 && os.Args[1] == underRefusal {
		fail(startUnderRefusal(os.Args[2], os.Args[3], os.Args[4:]))
	}
	if len(os.Args) == 8 && os.Args[1] == servesFuse {
		fail(serveFuse(os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6], os.Args[7]))
	}
	if len(os.Args) == 2 && os.Args[1] == "limits" {
		printLimits()
	}
	unix.Umask(0o022) // what a script makes must be readable by ids of a run
	// A shell starts what it puts into the background with SIGINT ignored, and nohup(1) with SIGHUP, and that is inherited; what is handled
	// is not (execve(2)).
	for _, ignored := range []os.Signal{os.Interrupt, unix.SIGHUP} {
		if signal.Ignored(ignored) {
			signal.Notify(make(chan os.Signal, 1), ignored)
		}
	}
	// Processes that outlive their launcher become children of this process and are found by orphans.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fail(err)
	}
	var err error
	if theHost, err = findHost(); err != nil {
		fail(err)
	}
	fmt.Printf("end-to-end tests as root: %v, with a range of ids: %v, with limits enforced by the kernel: %v\n",
		theHost.root, theHost.ranged, theHost.cgroup)
	code := m.Run()
	if left := eventually(orphans); len(left) > 0 {
		fmt.Printf("processes outlived the suite:\n%s\n", strings.Join(left, "\n"))
		code = 1
	}
	os.Exit(code)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "end-to-end tests:", err)
	os.Exit(1)
}

func findHost() (host, error) {
	h := host{bin: os.Getenv("SCIDEX_OCI_BIN"), root: os.Geteuid() == 0}
	if h.bin == "" {
		return h, fmt.Errorf("SCIDEX_OCI_BIN does not name the binary to test; run scripts/test, which builds it and sets that")
	}
	if filepath.Base(h.bin) != "scidex-oci" || !filepath.IsAbs(h.bin) {
		return h, fmt.Errorf("SCIDEX_OCI_BIN=%s: give an absolute path that ends in /scidex-oci", h.bin)
	}
	var err error
	if h.ranged, err = hasRange(); err != nil {
		return h, err
	}
	h.cgroup, err = limitsOf(h.bin)
	// Of containers podman's root has none (scripts/test podman).
	if err == nil && h.root && !h.cgroup && os.Getenv("SCIDEX_OCI_TEST_CONTAINER") == "" {
		err = fmt.Errorf("root cannot enforce limits here: mount the memory and pids control groups writable")
	}
	return h, err
}

// hasRange reports whether the user has a range of ids: root always has, others by subuid(5).
func hasRange() (bool, error) {
	me, err := user.Current()
	if err != nil || me.Uid == "0" {
		return true, err
	}
	for _, file := range []string{"/etc/subuid", "/etc/subgid"} {
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			return false, err
		}
		if !strings.HasPrefix(string(text), me.Username+":") && !strings.Contains(string(text), "\n"+me.Username+":") {
			return false, nil
		}
	}
	return true, nil
}

// printLimits answers for all tests that scripts/test starts one by one: the value of SCIDEX_OCI_TEST_LIMITS.
func printLimits() {
	enforced, err := enforces(os.Getenv("SCIDEX_OCI_BIN"))
	if err != nil {
		fail(err)
	}
	fmt.Println(map[bool]string{true: "enforce", false: "best-effort"}[enforced])
	os.Exit(0)
}

// limitsOf is enforces, or what SCIDEX_OCI_TEST_LIMITS has of it.
func limitsOf(bin string) (bool, error) {
	switch known := os.Getenv("SCIDEX_OCI_TEST_LIMITS"); known {
	case "":
		return enforces(bin)
	case "enforce", "best-effort":
		return known == "enforce", nil
	default:
		return false, fmt.Errorf("SCIDEX_OCI_TEST_LIMITS=%s: it is enforce or best-effort", known)
	}
}

// enforces runs the binary with the default limits: if the kernel cannot hold them, that is refused with one known
// sentence; anything else is an error.
func enforces(bin string) (bool, error) {
	scratch, err := os.MkdirTemp("", "scidex-oci-probe")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	// SIGQUIT makes a process that hangs print where.
	ctx, cancel := context.WithTimeout(context.Background(), hangTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "run", "--json", "--", "true")
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(unix.SIGQUIT) }, 10*time.Second
	cmd.Dir, cmd.Env = scratch, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + scratch, "SCIDEX_OCI_ROOT=" + scratch + "/root"}
	stdout, err := cmd.Output()
	var r result
	if undecoded := json.Unmarshal(stdout, &r); undecoded != nil {
		var ended *exec.ExitError
		if errors.As(err, &ended) {
			err = fmt.Errorf("%w: %s", err, ended.Stderr)
		}
		return false, fmt.Errorf("%s run -- true: %w, %w", bin, err, undecoded)
	}
	switch {
	case r.State == "complete":
		return true, nil
	case r.Reason == "request" && strings.HasPrefix(r.Message, "limits cannot be enforced: "):
		return false, nil
	}
	return false, fmt.Errorf("%s run -- true: %s: %s", bin, r.Reason, r.Message)
}

// environ is the environment of a caller whose home and root are below dir. A host that cannot enforce limits refuses
// to run by default; there all tests but those of that refusal use best effort.
func (h host) environ(dir string) []string {
	env := []string{
		"PATH=" + filepath.Dir(h.bin) + ":" + os.Getenv("PATH"),
		"HOME=" + filepath.Join(dir, "home"), "LANG=C.UTF-8",
		"SCIDEX_OCI_ROOT=" + filepath.Join(dir, "root"),
	}
	if !h.cgroup {
		env = append(env, "SCIDEX_OCI_LIMITS=best-effort")
	}
	return env
}

// TestScripts runs testdata/script. In addition to testscript's own commands there are
//
//	code N COMMAND...   the command ends with exit code N
//	field PATH VALUE    the last standard output is one valid result, whose field has the value; a path is
//	                    as in outputs.0.path, and len is a length, as in outputs.len
//	events FILE LIFECYCLE [stdout]
//	                    the file holds events, which are LIFECYCLE but for usage and log; the last one is the
//	                    result that the last standard output is
//
// $RUN begins the ids of only this script; every id must begin with it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Condition:          theHost.condition,
		Setup: func(env *testscript.Env) error {
			run := newPrefix()
			for _, pair := range append(theHost.environ(env.WorkDir), "RUN="+run) {
				name, value, _ := strings.Cut(pair, "=")
				env.Setenv(name, value)
			}
			env.Defer(func() {
				if left := leftovers(run, filepath.Join(env.WorkDir, "root")); len(left) > 0 {
					env.T().Fatal("left behind:\n" + strings.Join(left, "\n"))
				}
			})
			return os.Mkdir(filepath.Join(env.WorkDir, "home"), 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": codeCommand, "field": fieldCommand, "events": eventsCommand},
	})
}

func codeCommand(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(strings.Join(args[:min(len(args), 1)], ""))
	if err != nil || len(args) < 2 || neg {
		ts.Fatalf("usage: code N COMMAND [ARG...]")
	}
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func fieldCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: field PATH VALUE")
	}
	_, err := parseResult([]byte(ts.ReadFile("stdout")))
	ts.Check(err)
	got, err := lookUp([]byte(ts.ReadFile("stdout")), args[0])
	ts.Check(err)
	if (got == args[1]) == neg {
		ts.Fatalf("%s is %s", args[0], got)
	}
}
