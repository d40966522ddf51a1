package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
)

// board is what stands on the terminal while a batch goes on: a line for each analysis that runs, and the totals.
type board struct {
	screen *console
	total  int // lines in all, -1 where nobody knows
	jobs   int
	since  time.Time

	mu       sync.Mutex
	running  map[int]*runningLine
	counts   counts
	draining bool // nothing more is started
}

// counts are lines that have ended.
type counts struct{ complete, failed, errors, passed int }

func (c counts) done() int { return c.complete + c.failed + c.errors }

// runningLine is one line of the board.
type runningLine struct {
	number  int
	timeout time.Duration
	id      string
	last    *event.Usage // nil: nothing is known yet
	since   time.Time
}

// barWidth is that of the bar of an analysis, in columns.
const barWidth = 20

func newBoard(screen *console, total, jobs int) *board {
	return &board{screen: screen, total: total, jobs: jobs, since: time.Now(), running: map[int]*runningLine{}}
}

func (b *board) begin(line batch.Line) {
	b.mu.Lock()
	b.running[line.Number] = &runningLine{
		number: line.Number, timeout: time.Duration(line.Analysis.WithDefaults().Timeout), since: time.Now(),
		id: line.Analysis.ID,
	}
	b.mu.Unlock()
	b.draw()
}

// observe shows how far the analysis of a line has come.
func (b *board) observe(line batch.Line) func(event.Event) {
	return func(e event.Event) {
		usage, ok := e.Data.(event.Usage)
		if !ok {
			return
		}
		b.mu.Lock()
		if r := b.running[line.Number]; r != nil {
			r.id, r.last = e.ID, &usage
		}
		b.mu.Unlock()
		b.draw()
	}
}

func (b *board) end(line batch.Line, add func(*counts)) {
	b.mu.Lock()
	delete(b.running, line.Number)
	add(&b.counts)
	b.mu.Unlock()
	b.draw()
}

// drain shows that what runs is the last.
func (b *board) drain() {
	b.mu.Lock()
	b.draining = true
	b.mu.Unlock()
	b.draw()
}

func (b *board) draw() {
	if b.screen.width == 0 {
		return
	}
	b.mu.Lock()
	text := b.text(time.Now())
	b.mu.Unlock()
	b.screen.setStatus(text)
}

// text is all lines, as many as fit, and the totals as the last.
func (b *board) text(now time.Time) string {
	var all []*runningLine
	for _, r := range b.running {
		all = append(all, r)
	}
	slices.SortFunc(all, func(x, y *runningLine) int { return cmp.Compare(x.number, y.number) })
	fit := max(b.screen.height-3, 1) // the totals, a word on the rest, and a line for the cursor
	var lines []string
	for _, r := range all[:min(len(all), fit)] {
		lines = append(lines, r.text(now))
	}
	if more := len(all) - fit; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(append(lines, b.totals(now)), "\n")
}

// text is the status of one analysis, with a bar of how much of its time it has used.
func (r *runningLine) text(now time.Time) string {
	elapsed := now.Sub(r.since).Milliseconds()
	if r.last != nil && r.last.Suspended {
		elapsed = r.last.ElapsedMS
	} else if r.last != nil {
		elapsed = max(elapsed, r.last.ElapsedMS)
	}
	full := 0
	if r.timeout > 0 {
		full = int(min(int64(barWidth), int64(barWidth)*elapsed/r.timeout.Milliseconds()))
	}
	bar := "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "]"
	if r.last == nil {
		return bar + " " + escape(r.id) + "  " + clock(elapsed)
	}
	usage := *r.last
	usage.ElapsedMS = elapsed
	return bar + " " + statusLine(r.id, usage)
}

func (b *board) totals(now time.Time) string {
	c := b.counts
	line := fmt.Sprintf("%d done", c.done())
	if b.total >= 0 {
		line = fmt.Sprintf("%d of %d done", c.done(), b.total)
	}
	line += fmt.Sprintf("  %d failed  %d errors  %d jobs  %s", c.failed, c.errors, b.jobs, clock(now.Sub(b.since).Milliseconds()))
	if b.draining {
		return line + "  nothing more is started"
	}
	ran := c.done() - c.passed
	if ran == 0 || now.Sub(b.since) < time.Second {
		return line
	}
	rate := float64(ran) / now.Sub(b.since).Seconds()
	line += "  " + perSecond(rate)
	if left := b.total - c.done(); b.total >= 0 && left > 0 {
		line += fmt.Sprintf("  %d left, about %s", left, clock(int64(float64(left)/rate*1000)))
	}
	return line
}

// perSecond shows a rate.
func perSecond(rate float64) string {
	if rate < 1 {
		return fmt.Sprintf("%.1f/min", rate*60)
	}
	return fmt.Sprintf("%.1f/s", rate)
}
