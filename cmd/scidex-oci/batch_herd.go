package main

import (
	"sync"

	"github.com/scidex-ai/scidex-oci/runner"
)

// herd suspends all analyses that run. The zero value is ready.
type herd struct {
	mu      sync.Mutex
	members map[*runner.Suspender]bool
}

// join adds one that is about to begin, until left is called.
func (h *herd) join() (member *runner.Suspender, left func()) {
	member = &runner.Suspender{}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.members == nil {
		h.members = map[*runner.Suspender]bool{}
	}
	h.members[member] = true
	return member, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.members, member)
	}
}

// Suspend stops one after the other and calls then when all stand still. Meanwhile none begins.
func (h *herd) Suspend(then func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for member := range h.members {
		next := then
		then = func() { member.Suspend(next) }
	}
	then()
}

// Resume lets all go on.
func (h *herd) Resume() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for member := range h.members {
		member.Resume()
	}
}
