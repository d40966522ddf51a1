package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// liveBesideGC is how many runs are alive while gc is called all the time.
const liveBesideGC = 20

// TestGCAllTheTime calls gc again and again, three at once, from before the first of twenty runs starts until after the
// last has ended: a gc runs during the set-up, run, harvest, commit and cleaning of each of them.
func TestGCAllTheTime(t *testing.T) {
	h := newHarness(t)
	h.mustRun("ls") // makes the catalog
	loop := h.collectAlways(3)
	all := h.flag()
	var launches []*launch
	for range liveBesideGC {
		id := h.newID()
		launches = append(launches, h.launch(id, "--input", all.input(), "--", "sh", "-c",
			`for i in 1 2 3 4 5 6 7 8 9; do echo "$0 $i" >f$i; done; echo ready; `+awaited+`; cat f* >all`, id))
	}
	for _, l := range launches {
		l.await("ready")
	}
	loop.lap(t) // a whole gc while all of them live
	all.raise()
	for _, l := range launches {
		r := l.wait()
		r.expect(t, "complete", "exit", 0)
		content := ""
		for i := 1; i <= 9; i++ {
			content += fmt.Sprintf("%s %d\n", l.id, i)
		}
		if got := h.blob(r.output("all").SHA256); r.OutputsTotal != 10 || got != content {
			t.Errorf("%s: %d outputs, all is %q", l.id, r.OutputsTotal, got)
		}
	}
	loop.end()
	t.Logf("gc was called %d times", loop.laps)
	for _, problem := range loop.problems {
		t.Error(problem)
	}
	if n := strings.Count(h.mustRun("ls", "--quiet", "--state", "complete", "--limit", "0").stdout, "\n"); n != liveBesideGC {
		t.Errorf("%d runs are complete, want %d", n, liveBesideGC)
	}
	h.mustRun("catalog", "check", "--digests")
}

// collecting are loops of gc.
type collecting struct {
	stop     chan struct{}
	loops    sync.WaitGroup
	mu       sync.Mutex
	laps     int
	problems []error
}

func (h *harness) collectAlways(loops int) *collecting {
	c := &collecting{stop: make(chan struct{})}
	for range loops {
		c.loops.Go(func() {
			for {
				select {
				case <-c.stop:
					return
				default:
					c.took(h.touchesNothing())
				}
			}
		})
	}
	h.t.Cleanup(c.end)
	return c
}

func (c *collecting) took(problem error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.laps++
	if problem != nil {
		c.problems = append(c.problems, problem)
	}
}

func (c *collecting) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.laps
}

// lap waits until each loop has started and ended a gc.
func (c *collecting) lap(t *testing.T) {
	t.Helper()
	enough := c.count() + 10
	until(t, hangTimeout, "gc has been called", func() bool { return c.count() >= enough })
}

func (c *collecting) end() {
	select {
	case <-c.stop:
	default:
		close(c.stop)
	}
	c.loops.Wait()
}

// touchesNothing calls gc when it has nothing to do.
func (h *harness) touchesNothing() error {
	out, err := h.command(theHost.bin, "gc", "--json").CombinedOutput()
	var c collected
	if err := errors.Join(err, json.Unmarshal(out, &c)); err != nil {
		return fmt.Errorf("gc: %w: %s", err, out)
	}
	mine := slices.DeleteFunc(c.Foreign, func(dir string) bool { return !strings.Contains(dir, h.run) })
	if len(c.Lost)+len(c.Removed)+len(c.Kept)+len(c.Errors)+len(mine) > 0 || c.Blobs > 0 {
		return fmt.Errorf("gc beside live runs: %s", out)
	}
	return nil
}
