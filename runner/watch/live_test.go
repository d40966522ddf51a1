package watch

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// alive is a run that this process holds, by a runner and its row.
func alive(t *testing.T) (*phase.Host, catalog.Run, *workspace.StateFile, workspace.Location) {
	t.Helper()
	r := &phase.Host{Root: t.TempDir()}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	run := catalog.Run{Key: catalog.Key{ID: "a", Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Running}, Host: host}
	held, err := workspace.Lock(r.Root, run.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.Remove() }) // it may have been ended
	location := workspace.Location{Dir: "/tmp/scidex-analysis-a", State: held.Path}
	if location.Launcher, err = workspace.ThisLauncher(); err != nil {
		t.Fatal(err)
	}
	if err := held.Record(location); err != nil {
		t.Fatal(err)
	}
	if run.Place, err = json.Marshal(location); err != nil {
		t.Fatal(err)
	}
	return r, run, held, location
}

func attach(t *testing.T, r *phase.Host, run catalog.Run) *Live {
	t.Helper()
	live, err := Attach(r, run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = live.Close() })
	return live
}

// Whoever looks whether a run lives leaves its lock as it is, and sees its end.
func TestAttach(t *testing.T) {
	r, run, held, _ := alive(t)
	live, other := attach(t, r, run), attach(t, r, run)
	for _, l := range []*Live{live, other} {
		if ended, err := l.Ended(0); ended || err != nil {
			t.Errorf("a run that lives has ended: %v, %v", ended, err)
		}
	}
	if _, err := workspace.Lock(r.Root, run.Key); !errors.Is(err, workspace.ErrLocked) {
		t.Errorf("beside those who look the run can be held: %v", err)
	}
	if err := held.Remove(); err != nil {
		t.Fatal(err)
	}
	if ended, err := live.Ended(time.Minute); !ended || err != nil {
		t.Errorf("a run that has ended lives: %v", err)
	}
	if _, err := Attach(r, run); !errors.Is(err, ErrDead) {
		t.Errorf("%v, want ErrDead", err)
	}
}

// A process that is not the very one that was recorded is none, even where somebody has the lock.
func TestAttachToAnother(t *testing.T) {
	innocent := exec.Command("sleep", "1000")
	if err := innocent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = innocent.Process.Kill(); _ = innocent.Wait() }()
	ticks, err := workspace.StartTicks(innocent.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(l *workspace.Launcher)
		dead   bool
	}{
		"itself":         {func(l *workspace.Launcher) { l.PID, l.StartTicks = innocent.Process.Pid, ticks }, false},
		"reused number":  {func(l *workspace.Launcher) { l.PID = innocent.Process.Pid; l.StartTicks = ticks - 1 }, true},
		"another boot":   {func(l *workspace.Launcher) { l.BootID = "another" }, true},
		"no such number": {func(l *workspace.Launcher) { l.PID = 1 << 30 }, true},
		"no number":      {func(l *workspace.Launcher) { l.PID = 0 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, run, held, location := alive(t)
			c.change(location.Launcher)
			if err := held.Record(location); err != nil {
				t.Fatal(err)
			}
			live, err := Attach(r, run)
			if err == nil {
				defer live.Close()
			}
			if errors.Is(err, ErrDead) != c.dead || !c.dead && err != nil {
				t.Errorf("%v, want dead: %v", err, c.dead)
			}
		})
	}
}

// A launcher that cannot be judged from here is elsewhere; if nobody has the lock it is dead all the same.
func TestAttachElsewhere(t *testing.T) {
	r, run, held, location := alive(t)
	refuses := func(run catalog.Run, words string) {
		t.Helper()
		_, err := Attach(r, run)
		if elsewhere := new(ElsewhereError); !errors.As(err, &elsewhere) || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
	host, root := run, run
	host.Host = "another.example.org"
	refuses(host, `on host "another.example.org"`)
	root.Place = json.RawMessage(`{"dir":"/tmp/x","state":"/else/where/runs/a@1.json"}`)
	refuses(root, `--root "/else/where"`)
	location.Launcher.PIDNamespace++
	if err := held.Record(location); err != nil {
		t.Fatal(err)
	}
	refuses(run, "another PID namespace")
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Attach(r, run); !errors.Is(err, ErrDead) {
		t.Errorf("%v, want ErrDead", err)
	}
}

// SIGTERM is said to be stop's where stop has left its sign, and stop's only.
func TestAttribute(t *testing.T) {
	r, run, held, _ := alive(t)
	live := attach(t, r, run)
	term, interrupt := request.StopSignal{ExitCode: 143, Name: "SIGTERM"}, request.StopSignal{ExitCode: 130, Name: "SIGINT"}
	if got := held.Attribute(term); got != term {
		t.Errorf("without a sign: %+v", got)
	}
	for _, now := range []bool{false, true} {
		live.sign(now)
		if got := held.Attribute(term); got != (request.StopSignal{ExitCode: 143, Name: "scidex-oci stop", Now: now}) {
			t.Errorf("now %v: %+v", now, got)
		}
		if got := held.Attribute(interrupt); got != interrupt {
			t.Errorf("%+v", got)
		}
	}
	if err := live.Close(); err != nil {
		t.Fatal(err)
	}
	if got := held.Attribute(term); got != term {
		t.Errorf("after stop has gone: %+v", got)
	}
}

// A launcher of many runs gets one signal for each stop, and must know them apart.
func TestAskedToStop(t *testing.T) {
	r, run, held, _ := alive(t)
	first, second := attach(t, r, run), attach(t, r, run)
	count := func(want int) []int64 {
		t.Helper()
		who := AskedToStop(r, run.ID)
		if len(who) != want || len(slices.Compact(slices.Sorted(slices.Values(who)))) != want {
			t.Fatalf("%v ask, want %d", who, want)
		}
		return who
	}
	count(0)
	first.sign(false)
	one := count(1)
	second.sign(false)
	if both := count(2); !slices.Contains(both, one[0]) {
		t.Errorf("%v has lost %v", both, one)
	}
	first.sign(true)
	count(3)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	count(1)
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.stop(false); !errors.Is(err, ErrDead) {
		t.Errorf("a stop of what has just ended: %v, want ErrDead and no signal", err)
	}
}

// rows is a catalog whose Get gives one row after the other, the last one for good.
type rows struct {
	catalog.Catalog
	left []catalog.Run
}

func (c *rows) Get(context.Context, catalog.Key) (catalog.Run, error) {
	run := c.left[0]
	if len(c.left) > 1 {
		c.left = c.left[1:]
	}
	return run, nil
}

func TestAwait(t *testing.T) {
	r, run, held, _ := alive(t)
	ended, far := run, run
	ended.State, far.Host = outcome.Complete, "another.example.org"
	farEnded := far
	farEnded.State = outcome.Failed

	// Of another host only the row tells.
	r.Catalog = &rows{left: []catalog.Run{far, far, far, farEnded}}
	if got, err := Await(t.Context(), r, run.Key); err != nil || got.State != outcome.Failed {
		t.Errorf("%s, %v", got.State, err)
	}
	// Here the row may be first, as while the post-process command runs.
	r.Catalog = &rows{left: []catalog.Run{ended}}
	done := make(chan error)
	go func() {
		_, err := Await(t.Context(), r, run.Key)
		done <- err
	}()
	select {
	case err := <-done:
		t.Errorf("it did not wait for the launcher: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := held.Remove(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	// A row that nobody will ever end is waited for no more; one that was just being ended is no such.
	r.Catalog = &rows{left: []catalog.Run{run}}
	if _, err := Await(t.Context(), r, run.Key); err == nil || err.Error() != Killed(run.Key).Error() {
		t.Errorf("%v, want that its scidex-oci was killed", err)
	}
	r.Catalog = &rows{left: []catalog.Run{run, ended}}
	if got, err := Await(t.Context(), r, run.Key); err != nil || got.State != outcome.Complete {
		t.Errorf("%s, %v", got.State, err)
	}
}
