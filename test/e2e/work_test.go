package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// fills are programs that write more to their directory than they should. Each takes the number of bytes, or of names,
// that it writes, and then waits for its end.
var fills = map[string]struct {
	program string
	amount  int
	bound   []string // flags
	passed  string   // the flag of the bound that is passed
}{
	"one big file": {`
with open("big", "wb", buffering=0) as f:
    try:
        for _ in range(n >> 20): f.write(bytes(1 << 20))
    except OSError: pass # RLIMIT_FSIZE, a little above the bound`, 24 << 20, flags("--work-size=16MiB"), "--work-size"},
	"many files": {`
for i in range(n): open(f"f{i}", "w").close()`, 3000, flags("--work-files=1000"), "--work-files"},
	"files of some size": {`
for i in range(n >> 16):
    with open(f"f{i}", "wb") as f: f.write(bytes(1 << 16))`, 24 << 20, flags("--work-size=16MiB"), "--work-size"},
	"open files without a name": {`
keep = []
for i in range(n >> 20):
    f = open("lost", "wb"); os.unlink("lost"); f.write(bytes(1 << 20)); f.flush(); keep.append(f)`, 24 << 20, flags("--work-size=16MiB"), "--work-size"},
	"many writers": {`
for child in range(8):
    if os.fork() == 0:
        for i in range(n >> 23):
            with open(f"{child}-{i}", "wb") as f: f.write(bytes(1 << 20))
        signal.pause()`, 32 << 20, flags("--work-size=16MiB"), "--work-size"},
	"names of one file": {`
open("one", "w").close(); os.mkdir("d")
for i in range(n): os.link("one", f"d/{i}")`, 3000, flags("--work-files=1000"), "--work-files"},
	"directories": {`
for i in range(n): os.mkdir(f"d{i}")`, 3000, flags("--work-files=1000"), "--work-files"},
	"a tree that is moved about": {`
os.mkdir("a"); os.mkdir("b")
if os.fork() == 0:
    while True:
        try: os.rename("a", "c"); os.rename("b", "a"); os.rename("c", "b")
        except OSError: pass
for i in range(n >> 16):
    while True:
        try:
            with open(f"a/f{i}", "wb") as f: f.write(bytes(1 << 16))
            break
        except OSError: pass`, 24 << 20, flags("--work-size=16MiB"), "--work-size"},
}

// filling is the program of a fill and its arguments, for a shell or a sandbox.
func filling(name, after string) []string {
	f := fills[name]
	return []string{"python3", "-c", "import os, signal, sys\nn = int(sys.argv[1])\n" + f.program + "\n" + after, strconv.Itoa(f.amount)}
}

// The fills reach their end if nothing stops them.
func TestFillsWorkOutside(t *testing.T) {
	for name := range fills {
		cmd := exec.Command("setsid", append([]string{"--wait"}, filling(name, `print("done", flush=True); os.killpg(0, signal.SIGKILL)`)...)...)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if string(out) != "done\n" {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestWorkFull exceeds a bound on disk in each way and goes on: the run is ended, what it wrote is harvested, another
// run does not notice, and nothing stays.
func TestWorkFull(t *testing.T) {
	h := newHarness(t)
	sibling := h.launch(h.newID(), "--work-size=16MiB", "--", "sh", "-c", "echo x >before; echo ready; exec sleep 10000")
	sibling.await("ready")
	for name, f := range fills {
		t.Run(name, func(t *testing.T) {
			args := slices.Concat([]string{"--id", h.newID()}, f.bound, []string{"--"}, filling(name, "signal.pause()"))
			r := h.start(args...)
			r.expect(t, "failed", "work_full", 1)
			if !strings.Contains(r.Message, f.passed) || r.Signal == nil || *r.Signal != "SIGKILL" {
				t.Errorf("signal %v, %q", r.Signal, r.Message)
			}
			if seen := r.Evidence; seen.WorkBytes <= r.Analysis.WorkSize && seen.WorkFiles <= r.Analysis.WorkFiles {
				t.Errorf("evidence %+v", seen)
			}
			if u := r.Usage; u.WorkBytes < r.Evidence.WorkBytes || u.WorkFiles < r.Evidence.WorkFiles {
				t.Errorf("usage %+v, evidence %+v", u, r.Evidence)
			}
			for _, limit := range []string{"work_size", "work_files"} {
				if got := r.enforcement(limit); got.By != "watchdog" || got.Asked != got.Effective {
					t.Errorf("%+v", got)
				}
			}
			r.checkAllPartial(t)
			if harvested := r.OutputsTotal + r.RejectedTotal; harvested == 0 && name != "open files without a name" && name != "directories" {
				t.Error("nothing was harvested")
			}
			if left := processesOf(r.ID); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
	sibling.signal(syscall.SIGTERM)
	r := sibling.wait()
	r.expect(t, "canceled", "stopped", 143)
	if r.output("before").Size != 2 {
		t.Errorf("the sibling's outputs: %+v", r.Outputs)
	}
}

// checkAllPartial: of a full /work everything is kept, and marked.
func (r result) checkAllPartial(t *testing.T) {
	t.Helper()
	for _, o := range r.Outputs {
		if !o.Partial {
			t.Errorf("%s is not marked partial", o.Path)
		}
	}
	if slices.ContainsFunc(r.Rejected, func(e rejected) bool { return strings.HasPrefix(e.Reason, "too_") }) {
		t.Errorf("rejected %+v", r.Rejected)
	}
}

// TestWorkFullAtTheEnd ends by itself before the watchdog has measured: what it left is counted, and decides.
func TestWorkFullAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		script, reason string
		code           int
	}{
		"SIGXFSZ":          {"exec dd if=/dev/zero of=big bs=1M count=24 status=none", "work_full", 153},
		"a code":           {"dd if=/dev/zero of=a bs=1M count=10 status=none; cp a b; exit 9", "work_full", 9},
		"exit 0":           {"dd if=/dev/zero of=a bs=1M count=10 status=none; cp a b", "work_full", 1},
		"below the bound":  {"dd if=/dev/zero of=a bs=1M count=10 status=none; exit 9", "exit", 9},
		"not in /work":     {"exec dd if=/dev/zero of=/tmp/big bs=1M count=24 status=none", "signal", 153},
		"an innocent kill": {"kill -9 $$", "signal", 137},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			r := h.start(append(flags("--id", h.newID(), "--work-size=16MiB"), shell("echo x >x; "+c.script)...)...)
			code := c.code
			if c.reason == "work_full" && r.ExitCode == 1 {
				code = 1 // on a slow machine the watchdog comes before the end
			}
			r.expect(t, "failed", c.reason, code)
			if r.output("x").Size != 2 {
				t.Errorf("outputs %+v, rejected %+v", r.Outputs, r.Rejected)
			}
			if c.reason == "work_full" {
				r.checkAllPartial(t)
			}
		})
	}
}

// TestSparseFiles: holes take nothing. One file cannot be larger than the bound, on a tmpfs it can.
func TestSparseFiles(t *testing.T) {
	h := newHarness(t)
	r := h.start(append(flags("--id", h.newID(), "--work-size=17MiB"),
		shell("for i in 1 2 3 4; do truncate -s 16M s$i; done; truncate -s 8T huge; echo $? >code; rm -f huge; sleep 0.3")...)...)
	r.expect(t, "complete", "exit", 0)
	if got := r.paths(); r.RejectedTotal != 3 || !slices.Contains(got, "code") || h.blob(r.output("code").SHA256) == "0\n" {
		t.Errorf("outputs %q, rejected %+v", got, r.Rejected) // of four times 16 MiB one is taken
	}
	r = h.start(append(flags("--id", h.newID(), "--work-size=16MiB", "--work-storage=tmpfs"), shell("truncate -s 8T huge")...)...)
	r.expect(t, "complete", "exit", 0)
	if r.RejectedTotal != 1 || r.Rejected[0].Reason != "too_large" {
		t.Errorf("rejected %+v", r.Rejected)
	}
}

// TestWorkTmpfs is stopped by the kernel, with ENOSPC; the run goes on.
func TestWorkTmpfs(t *testing.T) {
	h := newHarness(t)
	h.write("data/table", "1,2\n", 0o644)
	h.write("staged/in.csv", "3,4\n", 0o644)
	tmpfs := func(more ...string) []string {
		return append([]string{"--id", h.newID(), "--work-storage=tmpfs", "--work-size=8MiB", "--work-files=50", "--data=data", "--stage=staged"}, more...)
	}
	for name, c := range map[string]struct {
		script, state, reason string
		code                  int
	}{
		"full":                 {"exec dd if=/dev/zero of=big bs=1M count=20 status=none", "failed", "work_full", 1},
		"full of names":        {"i=0; while touch f$i; do i=$((i+1)); done; exit 4", "failed", "work_full", 4},
		"full, and content":    {"dd if=/dev/zero of=big bs=1M count=20 status=none; true", "complete", "exit", 0},
		"failed, and not full": {"dd if=/dev/zero of=big bs=1M count=20 status=none; rm big; exit 5", "failed", "exit", 5},
	} {
		t.Run(name, func(t *testing.T) {
			r := h.start(tmpfs(shell(c.script)...)...)
			r.expect(t, c.state, c.reason, c.code)
			if got := r.enforcement("work_size"); got != (enforcement{"work_size", "8388608", "8388608", "tmpfs"}) {
				t.Errorf("%+v", got)
			}
			if r.Usage.WorkBytes > 8<<20 || r.Usage.WorkFiles > 50 {
				t.Errorf("usage %+v", r.Usage)
			}
		})
	}
	r := h.start(tmpfs(append(flags("--keep=always"), shell(
		`cat data/table in.csv >out; ln -s out link; mkdir sub; echo y >sub/y; chmod 0 sub
		grep -q ' /work .*rw,nosuid,nodev.* - tmpfs ' /proc/self/mountinfo && stat -c %u:%a . >mode`)...)...)...)
	r.expect(t, "complete", "exit", 0)
	if h.blob(r.output("out").SHA256) != "1,2\n3,4\n" || r.output("in.csv").Path != "" {
		t.Errorf("outputs %+v", r.Outputs)
	}
	want := map[bool]string{true: "1000:700\n", false: "0:700\n"}[theHost.ranged]
	if got := h.blob(r.output("mode").SHA256); got != want {
		t.Errorf("owner and mode of /work: %q, want %q", got, want)
	}
	dir := "/tmp/scidex-analysis-" + r.ID
	if target, err := os.Readlink(dir + "/link"); r.Kept != dir || err != nil || target != "out" {
		t.Errorf("kept %q: %v, %q", r.Kept, err, target)
	}
	if got := readFile(t, dir+"/sub/y") + readFile(t, dir+"/in.csv"); got != "y\n3,4\n" || len(matches(dir+"/data")) > 0 {
		t.Errorf("kept %q", got)
	}
	h.mustRun("rm", r.ID)
}

// TestTmpfsGoesWithItsRun kills the supervisor, which holds the tmpfs: what was in it is gone, and nothing is kept or left.
func TestTmpfsGoesWithItsRun(t *testing.T) {
	for name, kill := range map[string]func(*launch){
		"launcher":   func(l *launch) { l.signal(syscall.SIGKILL) },
		"supervisor": func(l *launch) { l.supervisor().kill(t) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			id := h.newID()
			l := h.launch(id, "--work-storage=tmpfs", "--keep=always", "--", "sh", "-c", endless, id+"-marker")
			l.await("ready")
			all := l.family()
			kill(l)
			<-l.ended
			expectGone(t, all, id)
			if name == "launcher" {
				h.expectLost(id)
				return
			}
			r := l.wait()
			r.expect(t, "lost", "supervisor_lost", 125)
			if r.Kept != "" || len(matches("/tmp/scidex-analysis-"+id)) > 0 {
				t.Errorf("kept %q", r.Kept)
			}
		})
	}
}

// smallTmp is a file system of 64 MiB for working directories. Only root can mount one.
func (h *harness) smallTmp() string {
	h.t.Helper()
	dir := h.t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m,mode=1777"); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			h.t.Error(err)
		}
	})
	h.setenv("SCIDEX_OCI_TMP", dir)
	return dir
}

// TestHostFull fills the file system during a run, which ends; the next is refused until there is room.
func TestHostFull(t *testing.T) {
	h := newHarness(t)
	if !theHost.root {
		// Without a small file system the floor is put above what this one has: nothing starts.
		h.mustRefuse([]string{"run", "--min-free=99.999%", "--", "true"}, "--min-free 99.999%", "gc`", "free")
		h.start("--id", h.newID(), "--min-free=0", "--", "true").expect(t, "complete", "exit", 0)
		return
	}
	dir := h.smallTmp()
	h.setenv("SCIDEX_OCI_MIN_FREE", "16MiB") // a share of the whole would be one of the blobs' file system too
	r := h.start(append(flags("--id", h.newID()), shell("echo x >x; for i in 1 2 3 4 5 6; do dd if=/dev/zero of=f$i bs=1M count=10 status=none; done; sleep 10000")...)...)
	r.expect(t, "failed", "host_full", 1)
	if e := r.Evidence; e.HostFloor != 16<<20 || e.HostFree >= e.HostFloor || !strings.Contains(r.Message, format.Size(e.HostFree)+" free") {
		t.Errorf("evidence %+v, %q", e, r.Message)
	}
	if o := r.output("x"); o.Size != 2 || !o.Partial {
		t.Errorf("outputs %+v", r.Outputs)
	}
	// By somebody else, while a run waits.
	l := h.launch(h.newID(), "--", "sh", "-c", "echo x >before; echo ready; exec sleep 10000")
	l.await("ready")
	if err := os.WriteFile(filepath.Join(dir, "other"), make([]byte, 50<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	r = l.wait()
	r.expect(t, "failed", "host_full", 1)
	if r.output("before").Size != 2 {
		t.Errorf("outputs %+v", r.Outputs)
	}
	r = h.start("--id", h.newID(), "--", "true")
	r.expect(t, "error", "request", 125)
	for _, word := range []string{dir, "--min-free 16MiB", "scidex-oci --root " + h.root + " gc"} {
		if !strings.Contains(r.Message, word) {
			t.Errorf("no %q in %q", word, r.Message)
		}
	}
	h.start("--id", h.newID(), "--work-storage=tmpfs", "--", "true").expect(t, "complete", "exit", 0) // it writes nothing there
	if err := os.Remove(filepath.Join(dir, "other")); err != nil {
		t.Fatal(err)
	}
	h.start("--id", h.newID(), "--", "true").expect(t, "complete", "exit", 0)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestManyFiles writes twenty times as many files as are allowed: a million if SCIDEX_OCI_SOAK is set, else a tenth.
func TestManyFiles(t *testing.T) {
	files := 100_000
	if os.Getenv("SCIDEX_OCI_SOAK") != "" {
		files = 1_000_000
	}
	h := newHarness(t)
	bound := files / 20
	r := h.start("--id", h.newID(), fmt.Sprintf("--work-files=%d", bound), "--", "python3", "-c", `
import os, sys
for i in range(int(sys.argv[1])):
    if i % 1000 == 0: os.mkdir(f"d{i}"); os.chdir(f"d{i}")
    os.close(os.open(str(i), os.O_CREAT | os.O_WRONLY))
`, strconv.Itoa(files))
	r.expect(t, "failed", "work_full", 1)
	if seen := r.Usage.WorkFiles; r.RejectedTotal > 0 || r.OutputsTotal > seen || r.OutputsTotal < seen-seen/500 { // every 1001st is a directory
		t.Errorf("%d outputs and %d rejected of %d names seen, with a bound of %d", r.OutputsTotal, r.RejectedTotal, seen, bound)
	}
}
