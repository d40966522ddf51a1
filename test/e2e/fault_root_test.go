package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// failingRoot is an ext4 of its own at the root directory of a caller.
type failingRoot struct {
	*harness
	loop string // its device, without /dev/
}

// onExt4 mounts an ext4 that turns read-only at its first error, made with options of mkfs.ext4.
func onExt4(t *testing.T, options ...string) *failingRoot {
	t.Helper()
	r := &failingRoot{harness: newHarness(t)}
	if err := os.Mkdir(r.root, 0o700); err != nil {
		t.Fatal(err)
	}
	r.must("truncate", "--size=64M", "disk")
	r.must("mkfs.ext4", append(options, "-q", "disk")...)
	r.mount()
	t.Cleanup(func() { _ = unix.Unmount(r.root, unix.MNT_DETACH) }) // if the test ended early
	return r
}

func (r *failingRoot) must(name string, args ...string) {
	r.t.Helper()
	if out := r.finish(r.command(name, args...)); out.code != 0 {
		r.t.Fatalf("%s %q: exit code %d\n%s%s", name, args, out.code, out.stdout, out.stderr)
	}
}

func (r *failingRoot) mount() {
	r.t.Helper()
	r.must("mount", "-o", "loop,errors=remount-ro", "disk", r.root)
	source, err := exec.Command("findmnt", "--noheadings", "--output", "SOURCE", r.root).Output()
	if err != nil {
		r.t.Fatal(err)
	}
	r.loop = filepath.Base(strings.TrimSpace(string(source)))
}

// fail is an error that the kernel meets in the file system.
func (r *failingRoot) fail() {
	r.t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/sys/fs/ext4/%s/trigger_fs_error", r.loop), []byte("by a test"), 0o200); err != nil {
		r.t.Fatal(err)
	}
}

// fill leaves 16 KiB of the file system free.
func (r *failingRoot) fill() (empty func()) {
	r.t.Helper()
	path := filepath.Join(r.root, "fill")
	if out := r.finish(r.command("dd", "if=/dev/zero", "of="+path, "bs=1k")); !strings.Contains(out.stderr, "No space left") {
		r.t.Fatalf("the file system is not full: %s", out.stderr)
	}
	r.must("truncate", "--size=-16K", path)
	r.must("sync", "--file-system", r.root)
	return func() { r.must("rm", path) }
}

// repair mounts the file system again, as an operator would. It is a copy: another process may have a mount namespace that still
// has the first one, which stays as it is until then.
func (r *failingRoot) repair() {
	r.t.Helper()
	r.must("blockdev", "--flushbufs", "/dev/"+r.loop)
	r.must("umount", r.root)
	r.must("mv", "disk", "failed")
	r.must("cp", "failed", "disk")
	if out := r.finish(r.command("e2fsck", "-fy", "disk")); out.code > 1 {
		r.t.Fatalf("e2fsck: exit code %d\n%s%s", out.code, out.stdout, out.stderr)
	}
	r.mount()
}

// TestFaultOfTheRoot: the file system of catalog, state file and outcomes fails under a run. gc does not remove a
// directory after the repair that the caller was told would stay, and says why it is there.
func TestFaultOfTheRoot(t *testing.T) {
	if !theHost.root {
		t.Log("not covered here: only root can mount a file system that fails; the tests as root do")
		return
	}
	r := onExt4(t)
	r.mustRun("run", "--id", r.newID(), "--", "true")
	id, end := r.newID(), r.flag()
	l := r.launch(id, "--input", end.input(), "--", "sh", "-c", "echo result >a; echo ready >&2; "+awaited)
	l.await("ready")
	dir := filepath.Join("/tmp", "scidex-analysis-"+id)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	r.fail()
	end.raise()
	out := l.wait()
	out.expect(t, "error", "commit", 125)
	if !strings.Contains(out.Message, fmt.Sprintf("stays in %q", dir)) {
		t.Fatalf("the message is %q", out.Message)
	}
	r.repair()
	if said := r.mustRun("gc"); !strings.Contains(said.stdout, dir) {
		t.Errorf("gc does not name the directory that it keeps: %q", said.stdout)
	}
	for range 2 {
		r.mustRun("gc")
		if got := readFile(t, filepath.Join(dir, "a")); got != "result\n" {
			t.Errorf("what was promised to stay is %q", got)
		}
	}
	if lost := r.show(id); lost.State != "lost" || !strings.Contains(lost.Message, "neither committed nor kept") || !strings.Contains(lost.Message, dir) {
		t.Errorf("%s: %s", lost.State, lost.Message)
	}
	r.mustRun("rm", id)
	if exists(dir) {
		t.Error("rm leaves the directory")
	}
	r.must("umount", r.root)
}

// TestFullRootOfSmallBlocks: SQLite's index in shared memory has holes if blocks are smaller than 4 KiB, and a full
// file system has no blocks for them: SIGBUS. During a run, which has the index, commands can read; a new run fails
// because the file system is full, and a result is kept until there is room.
func TestFullRootOfSmallBlocks(t *testing.T) {
	if !theHost.root {
		t.Log("not covered here: only root can mount a file system; the tests as root do")
		return
	}
	const full = "the file system is full; free some space and try again"
	for _, block := range []string{"1024", "2048"} {
		t.Run(block, func(t *testing.T) {
			r := onExt4(t, "-m", "0", "-b", block)
			before, id, end := r.newID(), r.newID(), r.flag()
			r.mustRun("run", "--id", before, "--", "true")
			l := r.launch(id, "--min-free", "0", "--input", end.input(), "--", "sh", "-c", "echo result >a; echo ready >&2; "+awaited)
			l.await("ready")
			empty := r.fill()
			for _, args := range [][]string{{"show", before}, {"ls"}} {
				r.mustRun(args...)
			}
			if out := r.do("run", "--min-free", "0", "--id", r.newID(), "--", "true"); out.code != 125 || !strings.Contains(out.stderr, full) {
				t.Errorf("a run: %d, %s", out.code, out.stderr)
			}
			end.raise()
			until(t, hangTimeout, "the analysis has ended", func() bool { return r.analysisEnded(id) })
			enough := insist(t, l.cmd.Process) // the second signal ends the time that a commit is tried
			out := l.wait()
			enough()
			out.expect(t, "error", "commit", 125)
			if !strings.Contains(out.Message, full) || !strings.Contains(out.Message, "commits it") {
				t.Errorf("the message is %q", out.Message)
			}
			empty()
			r.mustRun("gc")
			r.show(id).expect(t, "complete", "exit", 0)
			r.must("umount", r.root)
		})
	}
}
