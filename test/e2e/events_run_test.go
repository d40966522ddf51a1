package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const whole = "created started exited harvested finished"

// events reads what is in a file of --events.
func (h *harness) events(path string) events {
	h.t.Helper()
	all, err := parseEvents([]byte(readFile(h.t, path)))
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

// expect checks which events there are, and that the last one is the result that was printed.
func (all events) expect(t *testing.T, lifecycle string, printed result) {
	t.Helper()
	if got := all.lifecycle(); got != lifecycle {
		t.Errorf("events %q, want %q", got, lifecycle)
	}
	var told result
	if err := all.read("run.finished", &told); err != nil {
		t.Fatal(err)
	}
	if told.ID != printed.ID || told.State != printed.State || told.Reason != printed.Reason || told.ExitCode != printed.ExitCode ||
		len(told.Outputs) != len(printed.Outputs) || told.Attempt != printed.Attempt {
		t.Errorf("run.finished tells %+v, the result is %+v", told, printed)
	}
}

// TestEventsOfARun reads the events of a run while it goes on, and compares each with the result.
func TestEventsOfARun(t *testing.T) {
	h := newHarness(t)
	id, path := h.id("told"), h.path("events")
	const odd = "\\377 \\303\\251 \\033[2J"
	l := h.launch(id, "--events", "events", "--label", "a=b", "--", "sh", "-c",
		`printf 'out é\n'; printf '`+odd+`\n' >&2; echo 12345 >file; mkfifo pipe; echo ready >&2; exec sleep 1000`)
	l.await("ready")
	until(t, hangTimeout, "an event of usage", func() bool { return strings.Contains(readFile(t, path), `"type":"usage"`) })
	l.signal(syscall.SIGTERM)
	r := l.wait()
	r.expect(t, "canceled", "stopped", 143)
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("events: %v, %v", info.Mode(), err)
	}
	if text := readFile(t, path); strings.ContainsAny(text, "\x1b\x7f") {
		t.Errorf("a terminal might act on %q", text)
	}
	all := h.events(path)
	all.expect(t, whole, r)
	var created createdEvent
	var started result
	var exited exitedEvent
	var harvested harvestedEvent
	for name, v := range map[string]any{"run.created": &created, "run.started": &started, "run.exited": &exited, "run.harvested": &harvested} {
		if err := all.read(name, v); err != nil {
			t.Error(err)
		}
	}
	if fmt.Sprint(created.Analysis) != fmt.Sprint(r.Analysis) || created.Labels["a"] != "b" || created.Attempt != 1 {
		t.Errorf("created %+v for %+v", created, r.Analysis)
	}
	if !started.StartedAt.Equal(*r.StartedAt) || fmt.Sprint(started.Enforced) != fmt.Sprint(r.Enforced) || started.Sandbox.UIDOnHost != r.Sandbox.UIDOnHost {
		t.Errorf("started %+v, ended %+v", started, r)
	}
	if exited.Reason != "stopped" || exited.ExitCode != 143 || exited.ExitedAt.Before(*r.StartedAt) || exited.ExitedAt.After(*r.FinishedAt) {
		t.Errorf("exited %+v", exited)
	}
	if harvested != (harvestedEvent{Attempt: 1, Outputs: 1, Rejected: 1, Bytes: 6}) {
		t.Errorf("harvested %+v", harvested)
	}
	for name, want := range map[string]string{"stdout": "out é\n", "stderr": "\377 é \033[2J\nready\n"} {
		if got, missing, err := all.stream(name); err != nil || missing != 0 || got != want {
			t.Errorf("%s: %q, %d missing, %v", name, got, missing, err)
		}
	}
	if all.dropped() != (droppedEvents{}) {
		t.Errorf("dropped: %+v", all.dropped())
	}
}

// TestEventsOfManyRuns has several runs append to one file at the same time, with outputs that make long lines.
func TestEventsOfManyRuns(t *testing.T) {
	h := newHarness(t)
	h.write("events", "", 0o644)
	const runs = 4
	var all []*launch
	for i := range runs {
		all = append(all, h.launch(h.id(fmt.Sprint(i)), "--events", "events", "--", "sh", "-c",
			`i=0; while [ $i -lt 300 ]; do echo $i >f$i; i=$((i+1)); done; yes "$(printf %0999d 0)" | head -c 300000`))
	}
	for i, l := range all {
		r := l.wait()
		r.expect(t, "complete", "exit", 0)
		its := h.events(h.path("events")).of(h.id(fmt.Sprint(i)))
		its.expect(t, whole, r)
		if text, missing, err := its.stream("stdout"); len(text) != 300_000 || missing != 0 || err != nil {
			t.Errorf("%d bytes of standard output, %d missing, %v", len(text), missing, err)
		}
	}
}

// eventsFD is a descriptor whose number scidex-oci does not use otherwise.
const eventsFD = "fd:9"

// eventsPipe gives a command the writing end of a pipe as that descriptor, and returns the other.
func eventsPipe(t *testing.T, cmd *exec.Cmd) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	cmd.ExtraFiles = append(make([]*os.File, 9-3), w)
	return r
}

// given closes the test's own writing end.
func given(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.ExtraFiles[len(cmd.ExtraFiles)-1].Close(); err != nil {
		t.Fatal(err)
	}
}

// TestEventsToADescriptor shows that nobody but the launcher has it.
func TestEventsToADescriptor(t *testing.T) {
	h := newHarness(t)
	id := h.id("fd")
	cmd := h.command(theHost.bin, runWith(id, []string{
		"--events", eventsFD, "--", "sh", "-c", `ls /proc/self/fd; ls -l /proc/*/fd 2>/dev/null | grep pipe; echo ready >&2; exec sleep 1000`,
	})...)
	pipe := eventsPipe(t, cmd)
	l := h.follow(id, cmd)
	given(t, cmd)
	l.await("ready")
	info, err := pipe.Stat()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("pipe:[%d]", info.Sys().(*syscall.Stat_t).Ino)
	looked := 0
	for _, w := range l.family() {
		if w.pid == cmd.Process.Pid {
			continue
		}
		open, err := os.ReadDir(filepath.Join("/proc", w.id(), "fd"))
		if err != nil {
			continue // of another user, or not dumpable: root looks at these
		}
		looked++
		for _, fd := range open {
			if at, err := os.Readlink(filepath.Join("/proc", w.id(), "fd", fd.Name())); err == nil && at == name {
				t.Errorf("%s has it as descriptor %s", w.command, fd.Name())
			}
		}
	}
	if theHost.root && looked < 2 {
		t.Errorf("looked at %d processes of %d", looked, len(l.family()))
	}
	l.signal(syscall.SIGTERM)
	text, err := io.ReadAll(pipe) // to its end: nobody has it any more
	if err != nil {
		t.Fatal(err)
	}
	all, err := parseEvents(text)
	if err != nil {
		t.Fatal(err)
	}
	all.expect(t, whole, l.wait())
	// 3 is the directory that ls reads.
	if out, _, err := all.stream("stdout"); err != nil || !strings.HasPrefix(out, "0\n1\n2\n3\n") || strings.Contains(out, "\n4\n") || strings.Contains(out, name) {
		t.Errorf("the analysis has %q, %v", out, err)
	}
}

// TestEventsOfADetachedRun go on after the command that has started it.
func TestEventsOfADetachedRun(t *testing.T) {
	h := newHarness(t)
	flagged := h.flag()
	id := h.id("file")
	h.detach(id, "--events", "events", "--input", flagged.input(), "--", "sh", "-c", awaited)
	until(t, hangTimeout, "the events of the start", func() bool {
		all, err := parseEvents([]byte(readFile(t, h.path("events"))))
		return err == nil && all.lifecycle() == "created started"
	})
	flagged.raise()
	h.mustRun("show", "--wait", id)
	h.events(h.path("events")).expect(t, whole, h.show(id))

	id = h.id("fd")
	cmd := h.command(theHost.bin, "run", "--detach", "--id", id, "--events", eventsFD, "--", "true")
	pipe := eventsPipe(t, cmd)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	given(t, cmd)
	text, err := io.ReadAll(pipe) // to the end of the run
	if err != nil {
		t.Fatal(err)
	}
	all, parsed := parseEvents(text)
	if err := cmd.Wait(); err != nil || parsed != nil || stdout.String() != id+"\n" {
		t.Fatalf("%v, %v, %q", err, parsed, stdout.String())
	}
	h.mustRun("show", "--wait", id)
	all.expect(t, whole, h.show(id))
}

// TestSlowReaderOfEvents reads nothing before the analysis has written more than can be buffered. The run is not held
// up, and missed events are counted.
func TestSlowReaderOfEvents(t *testing.T) {
	h := newHarness(t)
	id := h.id("slow")
	const mib = 64
	cmd := h.command(theHost.bin, "run", "-q", "--id", id, "--events", eventsFD, "--log-size", "100MiB", "--",
		"sh", "-c", fmt.Sprintf(`head -c %dM /dev/zero | tr '\0' x; echo flooded >&2`, mib))
	pipe := eventsPipe(t, cmd)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	given(t, cmd)
	if said, err := bufio.NewReader(stderr).ReadString('\n'); said != "flooded\n" {
		t.Fatalf("%q, %v", said, err)
	}
	text, err := io.ReadAll(pipe)
	if err != nil {
		t.Fatal(err)
	}
	all, parsed := parseEvents(text)
	if err := cmd.Wait(); err != nil || parsed != nil {
		t.Fatal(err, parsed)
	}
	r := h.show(id)
	r.expect(t, "complete", "exit", 0)
	all.expect(t, whole, r)
	kept, _, err := all.stream("stdout")
	if err != nil || len(kept) == 0 || len(kept) >= mib<<20 {
		t.Errorf("%d bytes passed on, %v", len(kept), err)
	}
	if all.dropped().Log == 0 {
		t.Errorf("%d bytes of %d MiB are passed on, and no event says so", len(kept), mib)
	}
	if r.Logs.Stdout.Bytes != mib<<20 || len(aboutEvents(r)) > 0 {
		t.Errorf("log %+v, warnings %q", r.Logs.Stdout, r.Warnings)
	}
}

// aboutEvents are the warnings about them.
func aboutEvents(r result) (warnings []string) {
	for _, warning := range r.Warnings {
		if strings.Contains(warning, "--events") {
			warnings = append(warnings, warning)
		}
	}
	return warnings
}

// TestReaderOfEventsGoesAway: the run goes on, with one warning.
func TestReaderOfEventsGoesAway(t *testing.T) {
	h := newHarness(t)
	cmd := h.command(theHost.bin, runWith(h.id("gone"), []string{"--events", eventsFD, "--", "sh", "-c", "echo x; echo y >file"})...)
	if err := eventsPipe(t, cmd).Close(); err != nil {
		t.Fatal(err)
	}
	r := h.resultOf(cmd)
	r.expect(t, "complete", "exit", 0)
	if said := aboutEvents(r); len(r.Outputs) != 1 || len(said) != 1 || !strings.Contains(said[0], "their reader has gone") {
		t.Errorf("outputs %v, warnings %q", r.paths(), r.Warnings)
	}
	full := h.start("--id", h.id("full"), "--events", "/dev/full", "--", "true")
	full.expect(t, "complete", "exit", 0)
	if said := aboutEvents(full); len(said) != 1 || !strings.Contains(said[0], "no space left on device") {
		t.Errorf("warnings %q", full.Warnings)
	}
}

// TestEventsToAFIFO needs a reader, and does not wait for one.
func TestEventsToAFIFO(t *testing.T) {
	h := newHarness(t)
	if err := syscall.Mkfifo(h.path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.mustRefuse(flags("run", "--id", h.id("none"), "--events", "fifo", "--", "true"), "--events", `"fifo"`, "it has no reader")
	reader, err := os.OpenFile(h.path("fifo"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	r := h.start("--id", h.id("read"), "--events", "fifo", "--", "echo", "x")
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	all, err := parseEvents(text)
	if err != nil {
		t.Fatal(err)
	}
	all.expect(t, whole, r)
}
