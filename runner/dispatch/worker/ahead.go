package worker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// Where analyses are brief, the next ones are prepared while those before them run: the container up to its first
// instruction, with the modules of a script imported. Each waits for its turn, which is a place of a job, and goes back to
// the queue if that does not come soon: another worker may have one (docs/adr/0037).

// most is how many guests may be inside without a place. None are while one has had its place for so long that those would give
// theirs up: they would come again and again.
func (r *room) most() int {
	if !r.brief.Lasts() {
		return 0
	}
	for _, since := range r.placed {
		if time.Since(since) >= r.longest {
			return 0
		}
	}
	return min(r.whole.Idle(r.jobs, r.last.memory, r.last.cpus), r.jobs)
}

// call gives free places to those that are inside without one.
func (r *room) call() {
	for len(r.ahead) > 0 && len(r.placed) < r.jobs {
		r.placed[r.ahead[0]] = time.Now()
		close(r.ahead[0].turn)
		r.ahead = r.ahead[1:]
	}
}

// giveUp ends the wait of a guest for its place, and reports whether it had none yet.
func (r *room) giveUp(g *guest) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	waited := slices.Contains(r.ahead, g)
	r.ahead = slices.DeleteFunc(r.ahead, func(other *guest) bool { return other == g })
	return waited
}

// note counts an analysis that has ended.
func (r *room) note(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.brief.Add(took)
	r.admit()
}

// ahead is how many jobs the queue may deliver before their turn.
func (w *Worker) ahead() int {
	w.room.mu.Lock()
	defer w.room.mu.Unlock()
	return w.room.most()
}

// hasTurn reports whether a guest has its place.
func (g *guest) hasTurn() bool {
	select {
	case <-g.turn:
		return true
	default:
		return false
	}
}

// admit is called when everything is ready for the first instruction, and returns when it is the analysis' turn. A stop
// request ends its context.
func (j *job) admit(ctx context.Context) error {
	select {
	case <-j.guest.turn:
		j.take()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// awaitTurn gives the job back if its turn does not come.
func (j *job) awaitTurn(ctx context.Context, stop chan<- request.StopSignal) {
	late := time.NewTimer(j.room.longest)
	defer late.Stop()
	signal, why := request.StopSignal{ExitCode: stoppedExit, Name: queue.ByDrain}, "was drained"
	select {
	case <-j.guest.turn:
		return
	case <-ctx.Done(): // it is stopped anyway
		return
	case <-j.draining:
	case <-late.C:
		signal.Name, why = queue.ByAnother, "had no place"
	}
	if j.room.giveUp(j.guest) {
		j.back.Store(&queue.Later{After: soon, Why: fmt.Sprintf("worker %s %s before it had its turn", j.Options.Name, why)})
		stop <- signal
	}
}

// noGuest is a guest that takes no room and waits for no turn.
func noGuest() *guest {
	turn := make(chan struct{})
	close(turn)
	return &guest{turn: turn, leave: func() {}}
}
