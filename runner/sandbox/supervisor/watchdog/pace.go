package watchdog

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
)

// A survey is followed by a rest that is a multiple of its duration. There are two kinds, of names and of open files:
// together they take a fifth of a core while the file system fills up, and a five-hundredth, with fewer looks, while it
// does not.
const (
	restBusy = 9
	restIdle = 999
	idle     = 500 * time.Millisecond
)

// pacer spaces surveys by their cost and by what they can find. The space that the file system lost since the last one
// bounds what this run can have taken, even if others write there. While that is little beside the rest of the run's
// bound, there is no hurry.
type pacer struct {
	ended time.Time
	cost  time.Duration
	room  outputs.Extent // left of the bound
	high  freespace.Free // highest free space since
	hurry bool           // the last one was incomplete, or the file system reports no size
	links bool           // it counts names without inodes
}

// supply is a file system's free space.
type supply struct {
	freespace.Free

	unknown bool // it reports none
}

func supplyOf(st *unix.Statfs_t) supply {
	return supply{freespace.Free{Bytes: freespace.Available(st), Inodes: int64(st.Ffree)}, st.Blocks == 0}
}

// due reports whether a survey is due.
func (p *pacer) due(now time.Time, free supply) bool {
	p.high.Bytes, p.high.Inodes = max(p.high.Bytes, free.Bytes), max(p.high.Inodes, free.Inodes)
	low := p.low()
	drained := free.Bytes <= low.Bytes || free.Inodes <= low.Inodes
	return now.Sub(p.ended) >= p.rest(drained || free.unknown)
}

// rest is the time between surveys, unless space use cuts it short.
func (p *pacer) rest(busy bool) time.Duration {
	if busy || p.hurry {
		return restBusy * p.cost
	}
	return max(idle, restIdle*p.cost)
}

// low is the free space at which the loss could fill an eighth of the room. A hard link takes no inode: it is counted as
// the smallest directory entry (ext4: 8 bytes and the name, in fours).
func (p *pacer) low() freespace.Free {
	const nameBytes = 12
	room := p.room.Bytes
	if p.links {
		room = min(room, nameBytes*p.room.Files)
	}
	return freespace.Free{Bytes: p.high.Bytes - eighth(room), Inodes: p.high.Inodes - eighth(p.room.Files)}
}

// eighth rounds up: less than that is less than n/8.
func eighth(n int64) int64 {
	if n%8 > 0 {
		return n/8 + 1
	}
	return n / 8
}

// done records a survey that started with began free.
func (p *pacer) done(now time.Time, cost time.Duration, began supply, room outputs.Extent, whole bool) {
	*p = pacer{ended: now, cost: cost, room: room, high: began.Free, hurry: !whole || began.unknown, links: p.links}
}

// threadTime is the CPU time of the calling thread, to which the caller must be locked.
func threadTime() time.Duration {
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
