package worker

import (
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// A job goes to a worker that has all it asks for, and is back soon at first, and then in a while.
func TestLacks(t *testing.T) {
	w := &Worker{
		Host: &phase.Host{Root: t.TempDir()}, Labels: map[string]string{"gpu": "a100", "site": ""},
		Capacity: admission.Resources{Memory: 1 << 30, CPUs: 2},
		Options:  queue.Options{Name: "here/1/x", Jobs: 1}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	const request = `{"command": ["true"]}`
	for _, c := range []struct {
		request string
		require map[string]string
		memory  int64
		cpus    float64
		want    string
	}{
		{request: request},
		{request: `no JSON`},
		{request: request, require: map[string]string{"gpu": "a100", "site": ""}, memory: 1 << 30, cpus: 2},
		{request: request, require: map[string]string{"gpu": "h100"}, want: "label gpu=h100"},
		{request: request, require: map[string]string{"z": "1", "a": ""}, want: "label a=, label z=1"},
		{request: request, memory: 1<<30 + 1, want: "room for 1073741825B and 0 CPUs"},
		{request: request, cpus: 2.5, memory: 1 << 20, want: "room for 1MiB and 2.5 CPUs"},
		{request: `{"command": ["true"], "rootfs": "science"}`, want: "image science"},
		{request: `{"command": ["true"], "rootfs": "/not/there"}`, want: "rootfs /not/there"},
		{request: `{"command": ["true"], "rootfs": "/usr", "runtime": "/not/there"}`, want: "runtime /not/there"},
		{request: `{"command": ["true"], "rootfs": "host", "runtime": "/usr"}`},
	} {
		job := queue.Job{Request: []byte(c.request), Require: c.require, Memory: c.memory, CPUs: c.cpus}
		if got := w.missing(job); got != c.want {
			t.Errorf("%+v lacks %q", c, got)
		}
	}
	for n, longest := range map[int]time.Duration{0: time.Second, 1: 2 * time.Second, 2: 4 * time.Second, 100: longestPause} {
		pauses := map[time.Duration]bool{}
		for range 100 {
			var later *queue.Later
			err := w.elsewhere(queue.Job{Returned: n}, "label gpu=h100")
			if !errors.As(err, &later) || !strings.Contains(later.Why, "no worker with label gpu=h100 has taken it yet") || !strings.Contains(later.Why, "here/1/x") {
				t.Fatal(err)
			}
			if pauses[later.After] = true; later.After < longest/2 || later.After > longest {
				t.Errorf("returned %d times it pauses for %v", n, later.After)
			}
		}
		if len(pauses) < 50 {
			t.Errorf("returned %d times its pauses are %v, which find the same worker again", n, pauses)
		}
	}
}
