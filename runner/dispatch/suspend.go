package dispatch

import (
	"sync"

	"github.com/scidex-ai/scidex-oci/runner/suspend"
)

// SuspendGroup suspends and resumes all running analyses. The zero value is ready.
type SuspendGroup struct {
	mu      sync.Mutex
	members map[*suspend.Suspender]bool
}

// Join adds an analysis that is about to start, until leave is called.
func (g *SuspendGroup) Join() (member *suspend.Suspender, leave func()) {
	member = &suspend.Suspender{}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.members == nil {
		g.members = map[*suspend.Suspender]bool{}
	}
	g.members[member] = true
	return member, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.members, member)
	}
}

// Suspend suspends one after the other, and then calls then. None starts meanwhile.
func (g *SuspendGroup) Suspend(then func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for member := range g.members {
		next := then
		then = func() { member.Suspend(next) }
	}
	then()
}

// Resume resumes all.
func (g *SuspendGroup) Resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for member := range g.members {
		member.Resume()
	}
}
