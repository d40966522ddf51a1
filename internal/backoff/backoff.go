// Package backoff waits between tries, each time longer, up to a bound, and for partly random times.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff makes the pauses between tries. The pause starts at First and doubles with each try, up to Longest if that is not 0. Backoff
// waits for a random part of it, at least half, so that many waiting processes do not try together.
type Backoff struct {
	First, Longest time.Duration
	next           time.Duration
}

// Doubled returns first doubled so many times, but at most longest. It is for callers that count the tries themselves.
func Doubled(first, longest time.Duration, times int) time.Duration {
	for ; times > 0 && first < longest; times-- {
		first *= 2
	}
	return min(first, longest)
}

// Next is the length of the next pause.
func (b *Backoff) Next() time.Duration {
	pause := max(b.next, b.First)
	b.next = 2 * pause
	if b.Longest > 0 {
		b.next = min(b.next, b.Longest)
	}
	return pause - rand.N(pause/2+1)
}

// Reset makes First the next pause.
func (b *Backoff) Reset() { b.next = 0 }

// Wait waits for the next pause, and reports whether it passed before ctx ended.
func (b *Backoff) Wait(ctx context.Context) bool { return b.WaitAtLeast(ctx, 0) }

// WaitAtLeast is Wait for at least so long, such as a server's Retry-After.
func (b *Backoff) WaitAtLeast(ctx context.Context, least time.Duration) bool {
	timer := time.NewTimer(max(b.Next(), least))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
