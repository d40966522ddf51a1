package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
)

// Progress shows the jobs of a batch on a terminal: a line for each that runs, and the totals. How far a job has come is not
// known: its line has what it has used.
type Progress struct {
	terminal *Terminal
	total    int // jobs in all, -1 where unknown
	parallel int // jobs at once
	since    time.Time

	mu       sync.Mutex
	running  map[int]*runningJob
	counts   Counts
	draining bool // no more are started
}

// Counts are jobs that have ended. Skipped ones are among the others: their result is of an earlier batch.
type Counts struct{ Complete, Failed, Errors, Skipped int }

func (c Counts) done() int { return c.Complete + c.Failed + c.Errors }

// runningJob is a running job. Jobs are shown in the order of their numbers.
type runningJob struct {
	number int
	id     string
	last   *event.Usage // nil before the first report
	since  time.Time
}

// NewProgress makes the progress of total jobs, -1 where unknown; parallel of them run at once.
func NewProgress(terminal *Terminal, total, parallel int) *Progress {
	return &Progress{terminal: terminal, total: total, parallel: parallel, since: time.Now(), running: map[int]*runningJob{}}
}

// Begin adds a job that runs from now on.
func (p *Progress) Begin(number int, id string) {
	p.mu.Lock()
	p.running[number] = &runningJob{number: number, id: id, since: time.Now()}
	p.mu.Unlock()
	p.draw()
}

// Use shows what a running job has used so far.
func (p *Progress) Use(number int, id string, usage event.Usage) {
	p.mu.Lock()
	if r := p.running[number]; r != nil {
		r.id, r.last = id, &usage
	}
	p.mu.Unlock()
	p.draw()
}

// End removes a job, and counts it.
func (p *Progress) End(number int, count func(*Counts)) {
	p.mu.Lock()
	delete(p.running, number)
	count(&p.counts)
	p.mu.Unlock()
	p.draw()
}

// Elapsed is the time since the start.
func (p *Progress) Elapsed() time.Duration { return time.Since(p.since) }

// Drain shows that no more jobs are started.
func (p *Progress) Drain() {
	p.mu.Lock()
	p.draining = true
	p.mu.Unlock()
	p.draw()
}

func (p *Progress) draw() {
	if p.terminal.width == 0 {
		return
	}
	p.mu.Lock()
	text := p.text(time.Now())
	p.mu.Unlock()
	p.terminal.SetStatus(text)
}

// text is all lines, as many as fit, and the totals as the last.
func (p *Progress) text(now time.Time) string {
	var all []*runningJob
	for _, r := range p.running {
		all = append(all, r)
	}
	slices.SortFunc(all, func(x, y *runningJob) int { return cmp.Compare(x.number, y.number) })
	fit := max(p.terminal.height-3, 1) // without the totals, "and N more", and the line of the cursor
	var lines []string
	for _, r := range all[:min(len(all), fit)] {
		lines = append(lines, r.text(now))
	}
	if more := len(all) - fit; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(append(lines, p.totals(now)), "\n")
}

// text is the status of one analysis.
func (r *runningJob) text(now time.Time) string {
	elapsed := now.Sub(r.since).Milliseconds()
	if r.last != nil && r.last.Suspended {
		elapsed = r.last.ElapsedMS
	} else if r.last != nil {
		elapsed = max(elapsed, r.last.ElapsedMS)
	}
	if r.last == nil {
		return Escape(r.id) + "  " + Clock(elapsed)
	}
	usage := *r.last
	usage.ElapsedMS = elapsed
	return StatusLine(r.id, usage)
}

func (p *Progress) totals(now time.Time) string {
	c := p.counts
	line := fmt.Sprintf("%d done", c.done())
	if p.total >= 0 {
		line = fmt.Sprintf("%d of %d done", c.done(), p.total)
	}
	line += fmt.Sprintf("  %d failed  %s  %s  %s", c.Failed, format.Count(c.Errors, "error", "errors"), format.Count(p.parallel, "job", "jobs"), Clock(now.Sub(p.since).Milliseconds()))
	if p.draining {
		return line + "  nothing more is started"
	}
	ran := c.done() - c.Skipped
	if ran == 0 || now.Sub(p.since) < time.Second {
		return line
	}
	rate := float64(ran) / now.Sub(p.since).Seconds()
	line += "  " + Rate(rate)
	if left := p.total - c.done(); p.total >= 0 && left > 0 {
		line += fmt.Sprintf("  %d left, about %s", left, Clock(int64(float64(left)/rate*1000)))
	}
	return line
}
