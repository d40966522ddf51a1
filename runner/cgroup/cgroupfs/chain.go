package cgroupfs

import (
	"os"
)

// Chain is nested control groups, from the innermost up to the visible root.
type Chain struct {
	Unified bool // cgroup v2
	Dirs    []string
}

// Reached counts for each group how often it was out of memory. Unreadable counters are 0 and give no evidence.
func (c Chain) Reached() []int64 {
	counts := make([]int64, len(c.Dirs))
	for i, dir := range c.Dirs {
		counts[i] = c.reached(dir)
	}
	return counts
}

// reached counts charges that failed at the group's own limit: on version 2 when the kernel then had to kill, on version
// 1 also when something else helped.
func (c Chain) reached(dir string) int64 {
	if c.Unified {
		return Counter(dir, "memory.events.local", "oom")
	}
	return SignsV1(dir)
}

// Limit is the limit in bytes of the group that was out of memory between two calls of Reached. It is 0 if no visible
// group was, or if it is unknown at which of several the kernel killed.
func (c Chain) Limit(before, now []int64) (limit int64) {
	found := 0
	for i, dir := range c.Dirs {
		if now[i] <= before[i] {
			continue
		}
		found++
		if value, err := c.ownLimit(dir); err == nil {
			limit = value
		}
	}
	if found != 1 {
		return 0
	}
	return limit
}

// ownLimit is the group's own limit, not always the smallest.
func (c Chain) ownLimit(dir string) (int64, error) {
	if c.Unified {
		return Int(dir, "memory.max")
	}
	return Int(dir, "memory.limit_in_bytes")
}

// orderV1 is the most pages of a charge that can lead to a kill (PAGE_ALLOC_COSTLY_ORDER, 3).
const orderV1 = 8

// SignsV1 counts signs that a version 1 group met its limit: failed charges of memory, or of memory and swap together,
// and a peak at the limit. The last is for Linux 6.15 and later, which do not count failures of the second kind (seen
// with 6.18); it is tried first.
func SignsV1(dir string) (n int64) {
	for _, kind := range []string{"memory.", "memory.memsw."} {
		if failed, err := Int(dir, kind+"failcnt"); err == nil {
			n += failed
		}
		limit, err := Int(dir, kind+"limit_in_bytes")
		peak, unread := Int(dir, kind+"max_usage_in_bytes")
		if err == nil && unread == nil && peak > limit-orderV1*int64(os.Getpagesize()) {
			n++
		}
	}
	return n
}
