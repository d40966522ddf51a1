package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Boot is how long ago the machine was booted (CLOCK_BOOTTIME). Nobody can set it, and all processes of a boot have it, so that the
// time between two of them is a difference of it: the clock that tells the date may jump.
func Boot() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0 // every kernel since 2.6.39 has it
	}
	return time.Duration(now.Nano())
}

// At is the moment at which Boot was so much, or one just after it, with this process's monotonic clock (time.Time).
func At(boot time.Duration) time.Time {
	ago := Boot() - boot
	return time.Now().Add(-ago)
}

// After is the moment at by the date that the clock showed at origin, whatever has been set since. Both have a monotonic clock.
func After(origin, at time.Time) time.Time { return origin.Add(at.Sub(origin)) }
