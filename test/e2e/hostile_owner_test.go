package e2e

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"
)

// owner is a process of the host that has the rights of a run's files, at work in /work.
type owner struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

// ownFiles starts owner.py beside a run. Of a run with ids of its own, that is the caller in a user namespace with
// his range.
func (h *harness) ownFiles(id string) *owner {
	h.t.Helper()
	args := flags("/usr/bin/python3", testdata(h.t, "owner.py"), "/tmp/scidex-analysis-"+id+"/work")
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

// TestOwnerTouchesWork: every process of the run is dead when it is harvested, but the host is alive. What somebody
// has leased is changed under the reader; what he has open is copied, so that no blob is what he writes to.
func TestOwnerTouchesWork(t *testing.T) {
	catalogs(t, func(t *testing.T, h *harness) {
		id, end := h.id("owned"), h.flag()
		l := h.launch(id, append(flags("--data=none", "--docs=none", "--input", end.input()), shell(
			`for f in held open set-id given foreign; do echo $f >$f; done; mkdir given-directory; echo x >given-directory/file; echo ready >&2; `+awaited)...)...)
		l.await("ready")
		o := h.ownFiles(id)
		end.raise()
		r := l.wait()
		r.expect(t, "complete", "exit", 0)
		o.end()
		want := tree{
			"held": refusedAs("changed", "exchanged, removed or held by another process during the harvest (EAGAIN)"),
			"open": ofText("open\n"), "set-id": ofText("set-id\n"), "given": ofText("given\n"), "foreign": ofText("foreign\n"),
			"given-directory/file": ofText("x\n"),
		}
		if theHost.root {
			want["foreign"] = refusedAs("unreadable", "permission denied (EACCES)")
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
