package e2e

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
)

// owner is a process of the host that has the rights of a run's files, at work in /work.
type owner struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

// ownFiles starts owner.py next to a run, which does what the task says. Of a run with ids of its own, that is the caller in a
// user namespace with his range.
func (h *harness) ownFiles(id, task string) *owner {
	h.t.Helper()
	args := flags("/usr/bin/python3", testdata(h.t, "owner.py"), "/tmp/scidex-analysis-"+id+"/work", task)
	switch {
	case theHost.root:
		args = append(args, "ids", "root")
	case theHost.ranged:
		args = append(append(flags("unshare", "--user", "--map-root-user", "--map-auto"), args...), "ids")
	}
	o := &owner{t: h.t, cmd: exec.CommandContext(h.t.Context(), args[0], args[1:]...)}
	o.cmd.Env, o.cmd.Stderr = h.env, os.Stderr
	stdout, err := o.cmd.StdoutPipe()
	if err == nil {
		o.stdin, err = o.cmd.StdinPipe()
	}
	if err == nil {
		err = o.cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		h.t.Fatalf("%q says %q, %v", args, line, err)
	}
	return o
}

// end lets it write and waits for it.
func (o *owner) end() {
	o.t.Helper()
	o.stdin.Close()
	if err := o.cmd.Wait(); err != nil {
		o.t.Error(err)
	}
}

// TestOwnerKeepsHarvestOut: a file that a process outside has leased, or whose owner root has changed, cannot be read.
// That is no verdict on the file: the harvest fails, and the directory stays.
func TestOwnerKeepsHarvestOut(t *testing.T) {
	tasks := map[string]string{"held": "EAGAIN|temporarily unavailable"}
	if theHost.root {
		tasks["foreign"] = "permission denied"
	}
	for name, why := range tasks {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			id, end := h.newID(), h.flag()
			l := h.launch(id, append(flags("--data=none", "--docs=none", "--input", end.input()), shell(
				`for f in before `+name+` later; do echo $f >$f; done; echo ready >&2; `+awaited)...)...)
			l.await("ready")
			o := h.ownFiles(id, name)
			end.raise()
			r := l.wait()
			o.end()
			r.expect(t, "error", "harvest", 125)
			if !regexp.MustCompile(`"` + name + `".*(` + why + `)`).MatchString(r.Message) {
				t.Errorf("the message is %q", r.Message)
			}
			dir := "/tmp/scidex-analysis-" + id
			if name == "foreign" { // it cannot be made the caller's until its owner gives it back
				info, err := os.Stat(filepath.Join(dir, "work", "before"))
				if err == nil {
					err = os.Chown(filepath.Join(dir, "work", name), int(info.Sys().(*syscall.Stat_t).Uid), -1)
				}
				if err != nil {
					t.Fatal(err)
				}
				h.gc()
			}
			for _, f := range []string{"before", name, "later"} {
				if got := readFile(t, filepath.Join(dir, f)); got != f+"\n" {
					t.Errorf("%s is %q", f, got)
				}
			}
			h.mustRun("rm", id)
		})
	}
}

// TestOwnerTouchesWork: every process of the run is dead when it is harvested, but the host is alive. A file that a
// process has open is copied, so that it cannot write to a blob.
func TestOwnerTouchesWork(t *testing.T) {
	catalogs(t, func(t *testing.T, h *harness) {
		id, end := h.id("owned"), h.flag()
		l := h.launch(id, append(flags("--data=none", "--docs=none", "--input", end.input()), shell(
			`for f in open set-id given; do echo $f >$f; done; mkdir given-directory; echo x >given-directory/file; echo ready >&2; `+awaited)...)...)
		l.await("ready")
		o := h.ownFiles(id, "open")
		end.raise()
		r := l.wait()
		r.expect(t, "complete", "exit", 0)
		o.end()
		want := tree{"open": ofText("open\n"), "set-id": ofText("set-id\n"), "given": ofText("given\n"), "given-directory/file": ofText("x\n")}
		if theHost.root {
			want["null"] = refusedAs("device", "character device 1:3")
			want["disk"] = refusedAs("device", "block device 7:0")
		}
		if mode := r.output("set-id").Mode; mode != "0755" {
			t.Errorf("set-id has mode %s", mode)
		}
		h.checkBlob(r.output("open").SHA256, "open\n")
		h.expectTree(r, want)
	})
}
