package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"
)

// fuseErrnos are what a call on a network file system fails with when its server, the network or the right to use it is gone.
var fuseErrnos = []unix.Errno{unix.EIO, unix.ESTALE, unix.ENOTCONN, unix.ETIMEDOUT, unix.ENOENT, unix.EACCES, unix.EPERM, unix.ENXIO}

// fuseFaults are the wrong answers of a file system after the end of an analysis, from the last measurement of /work on and
// from the harvest on. CI takes two errnos for each request.
func fuseFaults() (all []wrong) {
	for i, at := range []wrong{
		{op: "lookup", on: "large"},
		{op: "lookup", on: "a"},
		{op: "getattr", on: "large"},
		{op: "getattr", on: "a/b/new"},
		{op: "open", on: "large"},
		{op: "open", on: "closed"},
		{op: "read", on: "large"},
		{op: "opendir", on: "a"},
		{op: "read on", on: "large"},
		{op: "opendir", on: "."},
		{op: "readdir", on: "a/b"},
		{op: "readdir on", on: "."},
	} {
		for j, errno := range fuseErrnos {
			for at.after = range int32(2) {
				if os.Getenv("SCIDEX_OCI_SOAK") == "" && j != (i+3*int(at.after))%len(fuseErrnos) {
					continue
				}
				at.errno = errno
				all = append(all, at)
			}
		}
	}
	return append(all,
		wrong{op: "hide", on: "large"}, wrong{op: "hide", on: "a"}, wrong{op: "hide", on: "a/b/new"}, wrong{op: "hide", on: "link"},
		wrong{op: "die"}, wrong{op: "readdir on", on: ".", errno: unix.EIO, after: 1},
		wrong{op: "invent", on: "."}, wrong{op: "invent", on: ".", after: 1},
		wrong{op: "read little", on: "large"}, wrong{op: "read little", on: "small"}, wrong{op: "read to an early end", on: "large"},
		wrong{op: "smaller", on: "large"}, wrong{op: "smaller", on: "small"},
		wrong{op: "larger", on: "large"}, wrong{op: "larger", on: "small"}, wrong{op: "larger", on: "empty"},
	)
}

// TestFuseInHarvest has working directories on a file system that gives wrong answers after the end of an analysis. A
// run is complete with every output, or it is an error and its directory has all that was written.
func TestFuseInHarvest(t *testing.T) {
	if !theHost.root {
		t.Log("not covered here: only root can mount a file system that others may use; the tests as root do")
		return
	}
	if !exists("/dev/fuse") {
		t.Log("not covered here: the kernel has no /dev/fuse")
		return
	}
	h := newHarness(t)
	h.harvestOnFuse(t, wrong{op: "nothing"})
	for _, w := range fuseFaults() {
		t.Run(w.String(), func(t *testing.T) { h.in(t).harvestOnFuse(t, w) })
	}
}

// unmeasured is the message of a run whose /work could not be measured: the answers may be wrong while it is still watched.
var unmeasured = regexp.MustCompile("whether /work is within its bounds could not be measured|the bounds of /work could not be watched")

// harvestOnFuse runs theHarvested on a file system that is wrong in one way, and removes the run when it is right again.
func (h *harness) harvestOnFuse(t *testing.T, w wrong) {
	dir, at := t.TempDir(), t.TempDir()
	h.setenv("SCIDEX_OCI_TMP", at)
	id := h.newID()
	f := h.mountFuse(w, dir, at)
	command := flags("--audit", "off", "--", "sh", "-c", "trap '[ -e "+beginWrong+" ]' EXIT; "+theHarvested)
	if w.op == "hide" { // only a listing after the last measurement can be compared with it
		command = flags("--audit", "off", "--events", filepath.Join(at, eventsOnFuse), "--", "sh", "-c", theHarvested)
	}
	out := h.do(runWith(id, command)...)
	if w.op == "die" { // no command works on the mount point of a dead server
		f.unmount()
		f = h.mountFuse(wrong{op: "nothing"}, dir, at)
	}
	r, found := h.row(id)
	what := fmt.Sprintf("%s: %s, %s (%s)", w, r.State, r.Reason, r.Message)
	t.Log(what)
	switch {
	case !found:
		t.Fatalf("%s: no row\n%s%s", w, out.stdout, out.stderr)
	case w.op == "nothing" && r.State != "complete":
		t.Errorf("%s; without a fault it has to be complete", what)
	case r.State == "error" && r.Reason != "harvest" && !unmeasured.MatchString(r.Message):
		t.Errorf("%s, want the reason harvest, or that of a failed measurement", what)
	}
	kept := filepath.Join(dir, "scidex-analysis-"+id)
	h.expectAll(r, what, kept)
	if exists(filepath.Join(at, endWrong)) {
		t.Errorf("there is a file %s", endWrong)
	}
	h.mustRun("rm", id)
	f.unmount()
	if w.op == "die" { // the new mount is another device: rm does not touch it
		return
	}
	if exists(kept) {
		t.Errorf("%s: it is there after rm", what)
	}
	if w.op != "nothing" && f.said.Len() == 0 {
		t.Errorf("%s: no answer was wrong", what)
	}
}

// fuseMount is a mounted file system and its server.
type fuseMount struct {
	t      *testing.T
	at     string
	server *exec.Cmd
	lives  io.Closer    // the server ends when it is closed
	said   bytes.Buffer // a line for each wrong answer
}

// mountFuse shows a directory at a mount point, with wrong answers.
func (h *harness) mountFuse(w wrong, dir, at string) *fuseMount {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	f := &fuseMount{t: h.t, at: at, server: h.command(self, w.arguments(dir, at)...)}
	f.server.Stdout, f.server.Stderr = &f.said, os.Stderr
	if f.lives, err = f.server.StdinPipe(); err != nil {
		h.t.Fatal(err)
	}
	if err := f.server.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(f.unmount)
	until(h.t, hangTimeout, "the file system is mounted", f.mounted)
	return f
}

func (f *fuseMount) mounted() bool {
	var st unix.Statfs_t
	err := unix.Statfs(f.at, &st)
	return err != nil || st.Type == unix.FUSE_SUPER_MAGIC // an error is that of a dead server
}

// unmount ends the server.
func (f *fuseMount) unmount() {
	f.lives.Close()
	_ = f.server.Wait() // a second time is an error, as is a killed server
	if !f.mounted() {
		return
	}
	if err := unix.Unmount(f.at, unix.MNT_DETACH); err != nil {
		f.t.Error(err)
	}
}
