package audit

import "time"

// The answers of one run: so many at once, and then so many a second. The supervisor is outside of the
// run's control group, and its work must not be the analysis' to give.
const (
	burst = 10_000
	rate  = 2_000 // a second
)

// pace is a token bucket.
type pace struct {
	used float64 // tokens
	last time.Time
}

// next takes a token and returns how long to wait for it.
func (p *pace) next(now time.Time) time.Duration {
	if !p.last.IsZero() {
		p.used = max(0, p.used-now.Sub(p.last).Seconds()*rate)
	}
	p.last = now
	p.used++
	if p.used <= burst {
		return 0
	}
	return time.Duration((p.used - burst) / rate * float64(time.Second))
}
