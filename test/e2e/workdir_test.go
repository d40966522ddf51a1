package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// workdirFlags are those of runs whose /work is at /job too.
func (h *harness) workdirFlags(more ...string) []string {
	return append([]string{"--id", h.newID(), "--workdir", "/job"}, more...)
}

// TestWorkdir: files written at one path are seen at the other and harvested once, for each kind of root and of
// storage.
func TestWorkdir(t *testing.T) {
	h := newHarness(t)
	h.write("data/table", "1,2\n", 0o644)
	h.write("staged/in.csv", "3,4\n", 0o644)
	h.tree("root", alpine(map[string]string{"var/lib/dpkg/status": "x", "job2": "->/bin"}))
	h.importImage("image", h.tree("pulled", alpine(nil)), imageConfig{})
	const script = `pwd; echo $SCIDEX_WORK_DIR; cat data/table in.csv; echo one >one; echo two >/work/two; cat /work/one two
rm two; ls /work; [ /job -ef /work ] && echo same; grep -c ' /job .*rw,nosuid,nodev' /proc/self/mountinfo
mv /job/one /job/uno && ln uno /job/ein && mv uno ein; rm -f uno; echo kept >kept`
	want := "/job\n/job\n1,2\n3,4\none\ntwo\ndata\nin.csv\none\nsame\n1\n"
	for name, flags := range map[string][]string{
		"host": nil, "tmpfs": {"--work-storage", "tmpfs"}, "directory": {"--rootfs", "./root"}, "image": {"--rootfs", "image"},
		"tmpfs and image": {"--rootfs", "image", "--work-storage", "tmpfs"},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			r := h.start(append(append(h.workdirFlags("--data", "data", "--stage", "staged"), flags...), shell(script)...)...)
			r.expect(t, "complete", "exit", 0)
			if got := h.stdoutOf(r); got != want {
				t.Errorf("inside:\n%s\nwant:\n%s\n%s", got, want, h.stderrOf(r))
			}
			if got := r.paths(); !slices.Equal(got, []string{"ein", "kept"}) {
				t.Errorf("outputs %q, rejected %+v", got, r.Rejected)
			}
			again := h.start("--again", r.ID)
			again.expect(t, "complete", "exit", 0)
			if got := h.stdoutOf(again); got != want {
				t.Errorf("again:\n%s", got)
			}
		})
	}
	// These are two mounts of one directory: nothing can be renamed or linked from one to the other.
	r := h.start(append(h.workdirFlags(), "--", "python3", "-c", `import errno, os
open("x", "w").close()
for call in os.rename, os.link:
    try: call("/job/x", "/work/y")
    except OSError as e: print(errno.errorcode[e.errno])`)...)
	if got := h.stdoutOf(r); got != "EXDEV\nEXDEV\n" {
		t.Errorf("from /job to /work: %q", got)
	}
}

// TestWorkdirRefused: a path is refused if it hides something, goes through a link of an image, or is no path inside.
func TestWorkdirRefused(t *testing.T) {
	h := newHarness(t)
	h.tree("root", alpine(map[string]string{"link": "->/etc", "file": "x", "dir/x": "x", "closed/x": "x"}))
	if err := os.Chmod(h.path("root/closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	for dir, word := range map[string]string{
		"/proc/../x": `--workdir "/proc/../x" is not in its simplest form: write "/x"`,
		"/job/..":    "simplest form", "job": "no absolute path inside", "/": "would hide others", "/proc/1": "lies in /proc", "/work/sub": "lies in /work",
		"/tmp/job": "lies in /tmp", "/var": "would hide", "/inputs/table/job": "would hide each other", "/inputs": "would hide others",
		"/link": "a symbolic link at /link", "/link/job": "a symbolic link at /link", "/file": "a regular file at /file", "/file/job": "a regular file at /file",
		"/dir": "a directory there", "/closed/job": "/closed that not all may search",
	} {
		h.mustRefuse([]string{"run", "--rootfs", "./root", "--input", h.write("table", "", 0o644), "--workdir", dir, "--", "true"}, word)
	}
}

// TestWorkdirBounds: files written through the other path count, also open files without a name.
func TestWorkdirBounds(t *testing.T) {
	h := newHarness(t)
	for _, name := range []string{"one big file", "open files without a name", "names of one file"} {
		t.Run(name, func(t *testing.T) {
			r := h.in(t).start(slices.Concat(h.workdirFlags(), fills[name].bound, []string{"--"}, filling(name, "signal.pause()"))...)
			r.expect(t, "failed", "work_full", 1)
			if !strings.Contains(r.Message, fills[name].passed) {
				t.Errorf("message %q", r.Message)
			}
		})
	}
	r := h.start(append(h.workdirFlags("--work-storage=tmpfs", "--work-size=8MiB"), shell("exec dd if=/dev/zero of=/job/big bs=1M count=20 status=none")...)...)
	r.expect(t, "failed", "work_full", 1)
}

// TestWorkdirWriters: files that are open for writing through the other path when the analysis ends are marked as partial.
func TestWorkdirWriters(t *testing.T) {
	h := newHarness(t)
	r := h.start(append(h.workdirFlags(), shell(`echo whole >whole; mkfifo /tmp/never
sh -c 'echo half >/job/half; exec 3>>/job/half; : >made; mv made ready; read -r x </tmp/never' &
until [ -e ready ]; do sleep 0.01; done`)...)...)
	r.expect(t, "complete", "exit", 0)
	for path, partial := range map[string]bool{"whole": false, "half": true} {
		if o := r.output(path); o.Path != path || o.Partial != partial {
			t.Errorf("%+v, want partial: %v", o, partial)
		}
	}
}

// TestWorkdirHostile: the other path permits nothing that /work does not.
func TestWorkdirHostile(t *testing.T) {
	h := newHarness(t)
	r := h.start(append(h.workdirFlags("--keep", "always"), "--", "python3", "-c", `import os, stat
os.chdir("/job")
open("program", "w").close()
for mode in 0o4755, 0o2755:
    try:
        os.chmod("program", mode)
        print("set-id")
    except OSError as e: print(e.strerror)
for path in "/x", "/../x", "/job/../x":
    try: open(path, "w"); print("written")
    except OSError as e: print(e.strerror)
os.symlink("/etc/passwd", "link"); os.mkfifo("fifo")
try: os.rmdir("/job"); print("removed")
except OSError as e: print(e.strerror)
try: os.rename("/job", "/work/job"); print("renamed")
except OSError as e: print(e.strerror)`)...)
	r.expect(t, "complete", "exit", 0)
	want := strings.Repeat("Operation not permitted\n", 2) + strings.Repeat("Read-only file system\n", 3)
	if got := h.stdoutOf(r); !strings.HasPrefix(got, want) || strings.Contains(got, "removed") || strings.Contains(got, "renamed") {
		t.Errorf("inside:\n%s%s", got, h.stderrOf(r))
	}
	if len(r.Outputs) != 1 || r.RejectedTotal != 2 {
		t.Errorf("outputs %+v, rejected %+v", r.Outputs, r.Rejected)
	}
	h.mustRun("rm", r.ID)
}

// TestInputsBelowVar binds inputs as a workflow engine does, in each kind of root. Nothing of the root is hidden or written to.
func TestInputsBelowVar(t *testing.T) {
	h := newHarness(t)
	h.tree("root", alpine(map[string]string{"var/lib/dpkg/status": "installed\n", "var/run": "->/run"}))
	h.importImage("image", h.tree("pulled", alpine(map[string]string{"var/lib/dpkg/status": "installed\n"})), imageConfig{})
	var many []string
	for i := range 200 {
		many = append(many, "--input", h.write(fmt.Sprintf("in/%d", i), fmt.Sprintln(i), 0o644)+fmt.Sprintf(":/var/lib/cwl/stg%d/file.txt", i))
	}
	before := snapshot(t, h.path("root"))
	for name, flags := range map[string][]string{"host": nil, "directory": {"--rootfs", "./root"}, "image": {"--rootfs", "image"}} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			r := h.start(slices.Concat([]string{"--id", h.newID(), "--workdir", "/var/spool/cwl"}, flags, many,
				shell("cat /var/lib/cwl/stg*/file.txt | grep -c .; cat /var/lib/dpkg/status 2>/dev/null; readlink /var/tmp; pwd; touch /var/lib/x 2>/dev/null; echo $?; echo >out"))...)
			r.expect(t, "complete", "exit", 0)
			status := map[bool]string{true: "", false: "installed\n"}[name == "host"]
			if got, want := h.stdoutOf(r), "200\n"+status+"/tmp\n/var/spool/cwl\n1\n"; got != want {
				t.Errorf("inside:\n%s\nwant:\n%s\n%s", got, want, h.stderrOf(r))
			}
			if got := r.paths(); !slices.Equal(got, []string{"out"}) {
				t.Errorf("outputs %q", got)
			}
		})
	}
	if after := snapshot(t, h.path("root")); changes(before, after) != "" {
		t.Errorf("the root filesystem changed:\n%s", changes(before, after))
	}
	file := h.write("file", "", 0o644)
	for destination, word := range map[string]string{
		"/var/lib/dpkg": "cannot be shown at /var/lib/dpkg", "/var/lib/dpkg/status": "a regular file at /var/lib/dpkg/status", "/var/run/x": "lies in /var/run",
		"/var/tmp/x": "lies in /var/tmp", "/var": "would hide",
	} {
		h.mustRefuse([]string{"run", "--rootfs", "./root", "--input", file + ":" + destination, "--", "true"}, word)
	}
	h.mustRefuse([]string{"run", "--rootfs", "./root", "--input", filepath.Dir(file) + "/in:/var/lib/dpkg", "--", "true"}, "a directory there")
}
