package sandbox

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
)

// A survey rests so many times as long as it took. There are two kinds, of names and of open files: together
// they take a fifth of a core while the file system fills up, and a five-hundredth while it does not, and then
// they are not made at each look either.
const (
	restBusy = 9
	restIdle = 999
	idle     = 500 * time.Millisecond
)

// pacer spaces surveys by what they cost and by what there is to find. How much of the file system went since
// the last one bounds what this run can have taken, whoever else writes there; as long as that is little
// beside what is left of the run's own bound, there is no hurry.
type pacer struct {
	ended time.Time
	cost  time.Duration
	room  outputs.Extent // what was left of the bound
	high  freespace.Free // the most that was free since
	hurry bool           // the last one was not whole, or the file system does not say what it has
	links bool           // it counts names that take no inode
}

// supply is what a file system has left.
type supply struct {
	freespace.Free

	unknown bool // it does not say
}

func supplyOf(st *unix.Statfs_t) supply {
	return supply{freespace.Free{Bytes: free(st), Inodes: int64(st.Ffree)}, st.Blocks == 0}
}

// due reports whether the next survey is.
func (p *pacer) due(now time.Time, free supply) bool {
	p.high.Bytes, p.high.Inodes = max(p.high.Bytes, free.Bytes), max(p.high.Inodes, free.Inodes)
	low := p.low()
	drained := free.Bytes <= low.Bytes || free.Inodes <= low.Inodes
	return now.Sub(p.ended) >= p.rest(drained || free.unknown)
}

// rest is how long it lasts, until it is cut short by what is taken.
func (p *pacer) rest(busy bool) time.Duration {
	if busy || p.hurry {
		return restBusy * p.cost
	}
	return max(idle, restIdle*p.cost)
}

// low is what is free when what went could fill an eighth of the room. A hard link takes no inode: it is counted
// at the least that a directory has for a name (ext4: 8 bytes and the name, in fours).
func (p *pacer) low() freespace.Free {
	const nameBytes = 12
	room := p.room.Bytes
	if p.links {
		room = min(room, nameBytes*p.room.Files)
	}
	return freespace.Free{Bytes: p.high.Bytes - eighth(room), Inodes: p.high.Inodes - eighth(p.room.Files)}
}

// eighth rounds up: less than that is less than an eighth.
func eighth(n int64) int64 {
	if n%8 > 0 {
		return n/8 + 1
	}
	return n / 8
}

// done notes a survey that began when there was so much free.
func (p *pacer) done(now time.Time, cost time.Duration, began supply, room outputs.Extent, whole bool) {
	*p = pacer{ended: now, cost: cost, room: room, high: began.Free, hurry: !whole || began.unknown, links: p.links}
}

// threadTime is the processor time of the calling thread, to which the caller must be locked.
func threadTime() time.Duration {
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
