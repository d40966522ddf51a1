package catalogtest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// testProcessesOpen makes one database from twenty processes at once.
func testProcessesOpen(t *testing.T, d Driver) {
	address := d.Fresh(t)
	var processes []*process
	for range 20 {
		processes = append(processes, spawn(t, "open", address, ""))
	}
	for _, p := range processes {
		must(t, p.start.Close())
	}
	ids := map[string]int{}
	for _, p := range processes {
		for _, id := range p.wait(t) {
			ids[id]++
		}
	}
	want := catalogID(t, opened(t, d, address))
	if len(ids) != 1 || ids[want] != len(processes) {
		t.Errorf("the processes read the catalog ids %v, want %q from all %d", ids, want, len(processes))
	}
}

func testProcessesCommit(t *testing.T, d Driver) {
	address := d.Empty(t)
	var processes []*process
	for i := range 6 {
		processes = append(processes, spawn(t, "commit", address, fmt.Sprint("process-", i)))
	}
	for _, p := range processes {
		must(t, p.start.Close())
	}
	c := opened(t, d, address)
	together(t, 3, func(i int) error { return commitSome(t.Context(), c, fmt.Sprint("goroutine-", i), processRuns) })
	for _, p := range processes {
		p.wait(t)
	}
	wantCommitted(t, c, (6+3)*processRuns)
}

func testKilledWhileCommitting(t *testing.T, d Driver) {
	address := d.Empty(t)
	c := opened(t, d, address)
	p := spawn(t, "stall", address, "a")
	must(t, p.start.Close())
	p.wantLine(t, "stalled")
	wantEntries(t, listing(t, c, catalog.Key{ID: "a"}), nil) // readers neither wait nor see it
	p.kill(t)

	run := intent("a", 1)
	wantRun(t, get(t, c, "a", 1), run)
	wantEntries(t, listing(t, c, run.Key), nil)
	must(t, c.Commit(t.Context(), ended(run), from(file("1")))) // no lock is left
	wantEntries(t, listing(t, opened(t, d, address), run.Key), []outputs.Entry{file("1")})
}

// testKilledAnywhere kills a process that commits in a loop: what it reported is committed, and what it did not report is
// there completely or not at all.
func testKilledAnywhere(t *testing.T, d Driver) {
	address := d.Empty(t)
	for round := range 8 {
		p := spawn(t, "forever", address, fmt.Sprint("round-", round))
		must(t, p.start.Close())
		var said []string
		for range 2 {
			said = append(said, p.line(t))
		}
		time.Sleep(rand.N(5 * time.Millisecond)) // a random point of the next commits
		said = append(said, p.kill(t)...)

		c := opened(t, d, address)
		for _, id := range said {
			wantWhole(t, c, get(t, c, id, 1))
		}
		runs, err := c.List(t.Context(), catalog.Filter{})
		must(t, err)
		for _, run := range runs {
			if run.State.Final() {
				wantWhole(t, c, run)
			} else {
				wantEntries(t, listing(t, c, run.Key), nil)
			}
		}
	}
}
