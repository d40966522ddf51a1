package plan

import "golang.org/x/sys/unix"

// noFile is the RLIMIT_NOFILE of the analysis, 0 for the default.
func (i ids) noFile() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return filesFor(limit.Max, i.self)
}

// filesFor returns the highest RLIMIT_NOFILE to give below the caller's hard limit, 0 if that is enough for the default:
// only the host's root can raise a hard limit (getrlimit(2)).
//
// With a single id the account's descriptors in flight in sockets count together, and each sender compares them with its own
// limit (unix(7), ETOOMANYREFS). So that analyses cannot take them from the account's launchers, which have the hard limit,
// they get at most half of it; and not many if the caller has many, since through descriptors they reach the account's
// shared epoll watches and pipes.
func filesFor(hard uint64, single bool) uint64 {
	const enough, few = 65536, 4096
	switch {
	case single:
		return min(few, hard/2)
	case hard >= enough:
		return 0
	default:
		return hard
	}
}
