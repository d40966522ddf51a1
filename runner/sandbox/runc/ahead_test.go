package runc

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/sandboxtest"
)

// startedAhead has a script made ready, which does something else then, and returns what it noted and its first line. Where it has not
// said in time that the hook is executed, as on a busy machine, it gets twice that.
func startedAhead(t *testing.T, s *supervisor, id, before string, within time.Duration) (note, line string) {
	t.Helper()
	for ; ; within *= 2 {
		note, line, exit := startAhead(t, s, id, before, within)
		if exit.Unhooked {
			continue
		}
		if !exit.Ended || exit.Status.ExitStatus() != 0 {
			t.Errorf("%s: it ended as %+v", id, exit)
		}
		return note, line
	}
}

func startAhead(t *testing.T, s *supervisor, id, before string, within time.Duration) (note, line string, exit sandbox.Exit) {
	t.Helper()
	r := sandboxtest.New(t, s, id, `if [ -n "$AHEAD" ]; then printf 'hook\0' >&4; `+before+`; fi; set -- /proc/[0-9]*; echo $AHEAD $# processes`)
	r.Job.Grace = time.Hour
	r.Job.Ahead, r.Job.AheadWithin = []string{"AHEAD=ahead"}, within
	r.Create()
	note, err := r.Session.Prepare()
	r.Must(err)
	r.Must(r.Session.Start())
	line, _ = bufio.NewReader(r.Created.Stdout).ReadString('\n') // what was killed has none
	exit = r.Wait()
	r.End()
	return note, line, exit
}

// TestPrepareLate has commands that do not become ready: they are started anew, and nothing of before is left.
func TestPrepareLate(t *testing.T) {
	s := launched(t)
	for id, before := range map[string]string{
		"sleeps":           "sleep 1000",
		"is-stopped":       "kill -STOP $$",
		"ignores-signals":  "trap '' TERM INT HUP; while :; do sleep 1; done",
		"leaves-a-process": "sleep 1000 & exit 0", // which has the pipe of the note
		"says-half":        "printf 'ready' >&4; sleep 1000",
		"stops-all":        "sleep 1000 & kill -STOP -1; kill -STOP $$",
	} {
		if note, line := startedAhead(t, s, id, before, 50*time.Millisecond); note != sandbox.NoteLate || line != "2 processes\n" {
			t.Errorf("%s: it noted %q and said %q", id, note, line)
		}
	}
}

// TestPrepareReady has one that does.
func TestPrepareReady(t *testing.T) {
	note, line := startedAhead(t, launched(t), "ready", `printf 'ready\0' >&4; read _ <&5`, time.Hour)
	if note != sandbox.NoteReady || line != "ahead 2 processes\n" {
		t.Errorf("it noted %q and said %q", note, line)
	}
}

// TestPrepareUnhooked has commands that do not say that the hook is executed. They may have executed a script that is there already: they are
// killed, and none is started anew.
func TestPrepareUnhooked(t *testing.T) {
	s := launched(t)
	for id, command := range map[string]string{
		"ends": "echo ran", "goes-on": "echo ran; sleep 1000", "says-ready": `echo ran; printf 'ready\0' >&4; read _ <&5`, "leaves-the-note": "echo ran; sleep 1000 &",
	} {
		r := sandboxtest.New(t, s, "unhooked-"+id, command)
		r.Job.Grace = time.Hour
		r.Job.Ahead, r.Job.AheadWithin = []string{"AHEAD=ahead"}, 500*time.Millisecond
		r.Create()
		_, err := r.Session.Prepare()
		r.Must(err)
		r.Must(r.Session.Start())
		said, err := io.ReadAll(r.Created.Stdout)
		r.Must(err)
		if exit := r.Wait(); !exit.Unhooked || exit.Executed || strings.Count(string(said), "ran") > 1 {
			t.Errorf("%s: it said %q and ended as %+v", id, said, exit)
		}
		r.End()
	}
}
