package screen

import (
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/observe/event"
)

func TestProgress(t *testing.T) {
	var shown strings.Builder
	p := NewProgress(&Terminal{to: &shown, width: 100, height: 5}, 100, 4)
	now := p.since
	for number := range 4 {
		p.Begin(number+1, "id\x1b")
	}
	for _, r := range p.running {
		r.since = now
	}
	p.Use(1, "one", event.Usage{ElapsedMS: 30_000, CPUMS: 4_000, MemoryBytes: 1 << 20, Processes: 2, Suspended: true})
	p.End(2, func(c *Counts) { c.Failed++ })
	got := p.text(now.Add(2 * time.Second))
	want := `one  0:30  cpu 0:04  memory 1MiB  processes 2  suspended
id\x1b  0:02
and one more
1 of 100 done  1 failed  0 errors  4 jobs  0:02  30.0/min  99 left, about 3:18`
	if got != strings.ReplaceAll(want, "one more", "1 more") {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	p.Drain()
	if got, want := p.totals(now.Add(2*time.Second)), "1 of 100 done  1 failed  0 errors  4 jobs  0:02  nothing more is started"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if strings.Contains(shown.String(), "id\x1b") {
		t.Errorf("%q", shown.String())
	}
}
