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

// The most that a run is assumed to take within a second, as fast as several cores fill the page cache. The next look comes
// before the run can have filled what it has left, and not sooner, since each wakes three threads of Go's: on two cores a
// sleeping run takes 2.2 thousandths of a core with two looks a second, and 4.8 with twenty.
const (
	bytesPerSecond = 8 << 30
	namesPerSecond = 800_000
)

// taken is the time in which n can be taken.
func taken(n, perSecond int64) time.Duration {
	return time.Duration(float64(n) / float64(perSecond) * float64(time.Second))
}

// pacer spaces surveys by their cost and by what they can find. The space that the file system lost since the last one
// bounds what this run can have taken, even if others write there. While that is little compared with the rest of the run's
// bound, there is no hurry.
type pacer struct {
	ended time.Time
	cost  time.Duration
	room  outputs.Extent // left of the bound
	high  supply         // highest free space since
	hurry bool           // the last one was incomplete, or the file system reports no size
	links bool           // it counts names without inodes
}

// supply is what a file system has free for an ordinary user.
type supply struct {
	bytes, inodes int64
	unknown       bool // it reports none
}

func supplyOf(st *unix.Statfs_t) supply {
	return supply{freespace.Available(st), int64(st.Ffree), st.Blocks == 0}
}

// next returns the time until a survey is due, and the time that filling the room takes. Of the room more than seven
// eighths are left, else a survey is due.
func (p *pacer) next(now time.Time, free supply) (due, full time.Duration) {
	p.high.bytes, p.high.inodes = max(p.high.bytes, free.bytes), max(p.high.inodes, free.inodes)
	low := p.low()
	drained := free.bytes <= low.bytes || free.inodes <= low.inodes
	full = min(taken(p.room.Bytes, bytesPerSecond), taken(p.room.Files, namesPerSecond))
	return p.rest(drained || free.unknown) - now.Sub(p.ended), full
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
func (p *pacer) low() supply {
	const nameBytes = 12
	room := p.room.Bytes
	if p.links {
		room = min(room, nameBytes*p.room.Files)
	}
	return supply{bytes: p.high.bytes - eighth(room), inodes: p.high.inodes - eighth(p.room.Files)}
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
	*p = pacer{ended: now, cost: cost, room: room, high: began, hurry: !whole || began.unknown, links: p.links}
}

// threadTime is the CPU time of the calling thread, to which the caller must be locked.
func threadTime() time.Duration {
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
