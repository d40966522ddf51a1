// Package vm holds the end-to-end tests that need a real systemd with cgroup v2, and root to disturb it. They
// run in the virtual machine of scripts/test vm, whose users are ada (with ids of her own and a user manager
// that is always there) and bob (with neither).
package vm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// hangTimeout is how long anything may take before it is taken to hang.
const hangTimeout = 3 * time.Minute

var bin = os.Getenv("SCIDEX_OCI_BIN")

func TestMain(m *testing.M) {
	_, err := os.Stat("/run/systemd/system")
	if bin == "" || err != nil || os.Geteuid() != 0 {
		fmt.Fprintln(os.Stderr, "these tests need a virtual machine that they may spoil: run scripts/test vm")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// person is a user who starts analyses, as cron would: without a session.
type person struct {
	t          *testing.T
	name, home string
	uid        int
}

func as(t *testing.T, name string) person {
	t.Helper()
	found, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.Atoi(found.Uid)
	if err != nil {
		t.Fatal(err)
	}
	return person{t, name, found.HomeDir, uid}
}

// runtimeDir is the person's XDG_RUNTIME_DIR, which they have if their manager runs.
func (p person) runtimeDir() string { return fmt.Sprintf("/run/user/%d", p.uid) }

func (p person) command(argv ...string) *exec.Cmd {
	// Not the test's context, which has ended when it cleans up.
	ctx, cancel := context.WithTimeout(context.Background(), hangTimeout)
	p.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = p.home, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "LANG=C.UTF-8"}
	if p.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.uid)}}
	}
	return cmd
}

// manager is the prefix of commands to the person's own systemd.
func (p person) manager(argv ...string) []string {
	if p.uid == 0 {
		return argv
	}
	at := []string{"env", "XDG_RUNTIME_DIR=" + p.runtimeDir(), argv[0], "--user"}
	return append(at, argv[1:]...)
}

// do runs a command, which must succeed, and returns what it printed.
func (p person) do(argv ...string) string {
	p.t.Helper()
	var stderr bytes.Buffer
	cmd := p.command(argv...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("%s: %q: %v\n%s%s", p.name, argv, err, out, stderr.String())
	}
	return string(out)
}

// result are the fields of a result that the tests use.
type result struct {
	State, Reason, Message string
	ExitCode               int `json:"exit_code"`
	Usage                  struct {
		WallMS   int64 `json:"wall_ms"`
		CPUMS    int64 `json:"cpu_ms"`
		PidsPeak int64 `json:"pids_peak"`
	}
	Evidence struct {
		OOMKills    int64 `json:"oom_kills"`
		PidsDenied  int64 `json:"pids_denied"`
		ThrottledMS int64 `json:"throttled_ms"`
		Throttled   int64 `json:"throttled_periods"`
		Periods     int64 `json:"periods"`
	}
	Enforced []enforcement
	Warnings []string
}

type enforcement struct{ Limit, Asked, Effective, By string }

func (r result) by(limit string) string {
	at := slices.IndexFunc(r.Enforced, func(e enforcement) bool { return e.Limit == limit })
	if at < 0 {
		return "nobody"
	}
	return r.Enforced[at].By
}

func (r result) effective(limit string) string {
	at := slices.IndexFunc(r.Enforced, func(e enforcement) bool { return e.Limit == limit })
	if at < 0 {
		return ""
	}
	return r.Enforced[at].Effective
}

func (r result) expect(t *testing.T, state, reason string) {
	t.Helper()
	if r.State != state || r.Reason != reason {
		t.Errorf("%s, %s (%s); want %s, %s", r.State, r.Reason, r.Message, state, reason)
	}
}

// run runs an analysis to its end.
func (p person) run(args ...string) result {
	p.t.Helper()
	return p.decode(p.command(append([]string{bin, "run", "--json"}, args...)...).Output())
}

func (p person) decode(stdout []byte, err error) (r result) {
	p.t.Helper()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	if undecoded := json.Unmarshal(stdout, &r); undecoded != nil {
		p.t.Fatalf("%s: %v, %v: %s", p.name, err, undecoded, stdout)
	}
	return r
}

// until waits for the condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hangTimeout); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", hangTimeout, what)
		}
	}
}

// dirs finds the control groups of a name, as in path.Match, however deep.
func dirs(pattern string) []string {
	var found []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() { // an error is a directory that has vanished
			if ok, _ := filepath.Match(pattern, entry.Name()); ok {
				found = append(found, path)
			}
		}
		return nil
	})
	return found
}
