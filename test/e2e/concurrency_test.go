package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestTwoAtOnce and TestTwentyAtOnce let all runs wait for each other, so that they do run at once.
func TestTwoAtOnce(t *testing.T)    { atOnce(t, 2) }
func TestTwentyAtOnce(t *testing.T) { atOnce(t, 20) }

func atOnce(t *testing.T, n int) {
	h := newHarness(t)
	all := h.flag()
	var launches []*launch
	for range n {
		id := h.newID()
		launches = append(launches, h.launch(id, "--input", all.input(), "--pids", "2000", "--", "sh", "-c",
			`me=$SCIDEX_ANALYSIS_ID; echo "$me" >own; touch "only-$me" "/tmp/$me" "/dev/shm/$me" ~/"$me"; echo ready
			`+awaited+`; ls >files; ls /tmp /dev/shm ~ >seen; cat /proc/[0-9]*/cmdline | tr '\0' '\n' | grep -o '[e]2e-[0-9a-f]*-[0-9a-f]*' >others; true`))
	}
	for _, l := range launches {
		l.await("ready")
	}
	all.raise()
	ids := map[int]bool{}
	for _, l := range launches {
		r := l.wait()
		r.expect(t, "complete", "exit", 0)
		ids[r.Sandbox.UIDOnHost] = true
		if got := h.blob(r.output("own").SHA256); got != l.id+"\n" {
			t.Errorf("%s wrote %q", l.id, got)
		}
		if got := h.blob(r.output("files").SHA256); got != "files\nonly-"+l.id+"\nown\n" {
			t.Errorf("%s saw %q in /work", l.id, got)
		}
		for _, name := range []string{"seen", "others"} {
			if got := h.blob(r.output(name).SHA256); strings.Count(got, "e2e-") != strings.Count(got, l.id) {
				t.Errorf("%s: %s holds something of another run: %q", l.id, name, got)
			}
		}
		if got := h.blob(r.output("seen").SHA256); strings.Count(got, l.id) != 3 {
			t.Errorf("%s does not see its own files: %q", l.id, got)
		}
	}
	if theHost.ranged && len(ids) != n {
		t.Errorf("%d runs at once had %d ids between them", n, len(ids))
	}
	names := strings.Fields(h.mustRun("ls", "--quiet", "--state", "complete", "--limit", "0").stdout)
	if len(names) != n {
		t.Errorf("the catalog has %d complete runs, want %d", len(names), n)
	}
}

// TestOneIDTwice starts an id that is running.
func TestOneIDTwice(t *testing.T) {
	h := newHarness(t)
	id, end := h.newID(), h.flag()
	first := h.launch(id, "--input", end.input(), "--", "sh", "-c", "echo ready; "+awaited+"; echo first >who")
	first.await("ready")
	h.mustRefuse([]string{"run", "--id", id, "--", "sh", "-c", "echo second >who"}, id, "in use")
	end.raise()
	r := first.wait()
	r.expect(t, "complete", "exit", 0)
	if got := h.blob(r.output("who").SHA256); got != "first\n" {
		t.Errorf("the output is %q", got)
	}
}

// TestOneIDManyTimesAtOnce starts an id so often at one moment that several pass the first checks
// together: exactly one may run.
func TestOneIDManyTimesAtOnce(t *testing.T) {
	h := newHarness(t)
	h.mustRun("ls") // makes the catalog: the race is for the id
	for round := range 5 {
		id := h.id(fmt.Sprint("round-", round))
		var launches []*launch
		for k := range 6 {
			launches = append(launches, h.launch(id, "--", "sh", "-c", fmt.Sprintf("echo %d >who", k)))
		}
		winner, ran := -1, 0
		for k, l := range launches {
			r := l.wait()
			if r.State == "complete" {
				winner, ran = k, ran+1
				continue
			}
			r.expect(t, "error", "request", 125)
		}
		if ran != 1 {
			t.Fatalf("%d of the runs with one id ran, want 1", ran)
		}
		if got := h.mustRun("outputs", "cat", id, "who").stdout; got != fmt.Sprintln(winner) {
			t.Errorf("the catalog has the output %q, run %d won", got, winner)
		}
	}
}

// TestNewRootManyTimesAtOnce lets many runs make the catalog together.
func TestNewRootManyTimesAtOnce(t *testing.T) {
	h := newHarness(t)
	if _, err := os.Stat(h.root); err == nil {
		t.Fatal("there is a root already")
	}
	var launches []*launch
	for range 8 {
		launches = append(launches, h.launch(h.newID(), "--", "true"))
	}
	for _, l := range launches {
		l.wait().expect(t, "complete", "exit", 0)
	}
}
