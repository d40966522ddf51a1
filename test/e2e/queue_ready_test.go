package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// readied is a worker of one job with an analysis that runs until its flag is raised, and a script that is prepared beside it.
type readied struct {
	*hosted
	submitter  *harness
	db         database
	held, next string // ids
	end        flag
}

// idleWorker are the options of a worker whose processors and memory are idle beside its job.
var idleWorker = flags("--jobs", "1", "--total-cpus", "4", "--total-memory", "16GiB")

// ready starts such a worker. Its first analysis is brief.
func ready(t *testing.T, args ...string) *readied {
	t.Helper()
	h, db := inQueue(t)
	r := &readied{submitter: h, db: db, end: h.flag()}
	r.hosted = h.worker(append(append([]string{}, idleWorker...), args...)...)
	first := h.flag()
	h.comes(db, h.submit("brief", awaited, "--input", first.input()), "running")
	r.held = h.submit("held", awaited, "--input", r.end.input())
	r.next = h.id("next")
	script := h.write("next.py", "import json, decimal\nopen('out', 'w').write(json.dumps([1]))\n", 0o644)
	h.mustRun("submit", "--id", r.next, "--script", script, "--retries", "0")
	until(t, hangTimeout, "it has waited long enough", func() bool {
		return db.query(t, "", "SELECT count(*) FROM scidex_oci.river_job WHERE state = 'available' AND scheduled_at < now() - interval '1 s'") == "2"
	})
	first.raise()
	h.comes(db, r.held, "running")
	until(t, hangTimeout, "its Python waits for its turn", func() bool {
		return h.attempts(db, r.next) == "running" && len(with("/analysis/next.py")) > 0
	})
	return r
}

// TestQueueReady has a worker of one job with idle processors prepare the next script. Its turn comes when the analysis before it
// has ended, and its times and the metrics count from that.
func TestQueueReady(t *testing.T) {
	r := ready(t, "--metrics", "127.0.0.1:0", "--log-format", "json")
	url := r.serving()
	if q := r.submitter.show(r.next); q.State != "running" || q.StartedAt != nil {
		t.Errorf("before its turn it is %s, started at %v", q.State, q.StartedAt)
	}
	third := r.submitter.submit("third", "true")
	_, text := asked(t, url+"/metrics")
	for name, want := range map[string]float64{
		"scidex_oci_worker_running_jobs": 1, "scidex_oci_worker_queue_wait_seconds_count": 2, "scidex_oci_worker_granted_cpus": 2,
	} {
		if got := metric(t, text, name); got != want {
			t.Errorf("with one prepared %s is %v, want %v", name, got, want)
		}
	}
	if got := r.submitter.attempts(r.db, third); got != "queued" {
		t.Errorf("behind one that is prepared the next is %q", got)
	}
	r.end.raise()
	r.submitter.comes(r.db, r.next, "complete")
	r.submitter.comes(r.db, third, "complete")
	held, next := r.show(r.held), r.show(r.next)
	if next.Start == nil || next.Start.Kind != "ready" || next.OutputsTotal != 1 || next.Attempt != 1 {
		t.Errorf("the next has started %+v, and is %+v", next.Start, next)
	}
	if ended := held.StartedAt.Add(time.Duration(held.Usage.WallMS-1) * time.Millisecond); next.StartedAt.Before(ended) {
		t.Errorf("it started at %v, before the end of the other at %v", next.StartedAt, ended)
	}
	if held.Start != nil {
		t.Errorf("one that had a place has started %+v", held.Start)
	}
	r.hosted.end()
	if got := r.results(); got != 4 {
		t.Errorf("%d results, want 4:\n%s", got, readFile(t, r.out))
	}
}

// TestQueueReadyDrained: a drain gives back at once what is prepared, no try is lost, and what runs goes on.
func TestQueueReadyDrained(t *testing.T) {
	r := ready(t)
	r.signal(syscall.SIGTERM)
	r.submitter.comes(r.db, r.next, "queued")
	if got := r.submitter.attempts(r.db, r.held); got != "running" {
		t.Errorf("what runs is %q", got)
	}
	until(t, hangTimeout, "it is in the queue again", func() bool { return r.submitter.queued(r.next).State == "waiting" })
	if q := r.submitter.queued(r.next); q.Attempt != 2 || q.Tries != 0 || len(q.Errors) != 0 {
		t.Errorf("what was prepared is %+v", q)
	}
	back := r.submitter.show(r.next + "@1")
	back.expect(t, "canceled", "stopped", 143)
	if back.Message != "stopped by the drain of its worker before anything was run" || back.StartedAt != nil {
		t.Errorf("%q, started at %v", back.Message, back.StartedAt)
	}
	r.end.raise()
	r.drained()
	r.submitter.show(r.held).expect(t, "complete", "exit", 0)
	other := r.submitter.worker(idleWorker...)
	r.submitter.comes(r.db, r.next, "complete")
	other.end()
}

// TestQueueReadyKilled: what a killed worker had prepared is lost as what it ran, and comes again.
func TestQueueReadyKilled(t *testing.T) {
	r := ready(t)
	r.killed()
	again := r.again(idleWorker...)
	r.end.raise()
	for _, id := range []string{r.held, r.next} {
		r.submitter.comes(r.db, id, "complete")
		if got := r.submitter.attempts(r.db, id); got != "lost complete" {
			t.Errorf("the attempts of %s are %q", id, got)
		}
	}
	if lost := r.submitter.show(r.next + "@1"); lost.StartedAt != nil {
		t.Errorf("what was prepared started at %v", lost.StartedAt)
	}
	again.end()
	again.mustRun("catalog", "check", "--digests")
}

// TestQueueReadyElsewhere: what does not have its turn soon goes to a worker that has a place.
func TestQueueReadyElsewhere(t *testing.T) {
	r := ready(t, "--rescue-after", "40s")
	other := r.submitter.worker("--rescue-after", "40s")
	r.submitter.comes(r.db, r.next, "complete")
	if got := r.submitter.attempts(r.db, r.next); got != "canceled complete" {
		t.Errorf("its attempts are %q", got)
	}
	if back := r.submitter.show(r.next + "@1"); !strings.HasPrefix(back.Message, "stopped by its worker, because another may have a place for it sooner") {
		t.Errorf("it was given back by %q", back.Message)
	}
	if other.show(r.next).OutputsTotal != 1 {
		t.Error("its output is not there")
	}
	r.end.raise()
	r.submitter.comes(r.db, r.held, "complete")
	other.end()
	r.hosted.end()
}
