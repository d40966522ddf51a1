package spawn

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

const addrNoRandomize = 0x0040000 // of personality(2)

// scheduling describes the calling thread.
func scheduling() string {
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		panic(err)
	}
	ioprio, _, _ := unix.RawSyscall(unix.SYS_IOPRIO_GET, ioprioWhoProcess, 0, 0)
	slack, _ := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	persona, _, _ := unix.RawSyscall(unix.SYS_PERSONALITY, 0xffffffff, 0, 0)
	return fmt.Sprintf("policy %d nice %d io %d slack %d personality %#x", attr.Policy, niceness(0), ioprio, slack, persona)
}

// TestOrdinary: how the caller is scheduled is not passed on.
func TestOrdinary(t *testing.T) {
	var before string
	f := cloneOn(t, unix.CLONE_NEWUSER, func() { makeUnusual(t); before = scheduling() })
	f.mapIDs(t, unix.Getuid())
	if err := f.Execute(self, []string{tell}, false); err != nil {
		t.Fatal(err)
	}
	nice := 0
	if unix.Getuid() != 0 {
		nice = niceness(0) // of this test, which an ordinary user cannot lower
	}
	want := fmt.Sprintf("policy %d nice %d io 0 slack 50000 personality 0x0", unix.SCHED_NORMAL, nice)
	if words := f.words(t); !slices.Contains(words, want) || before == want {
		t.Errorf("%q is not among %q; the caller had %q", want, words, before)
	}
	f.in.Close()
	<-f.done
	close(f.end)
}

// makeUnusual changes the thread, which is to end: what anybody may change, and what root may.
func makeUnusual(t *testing.T) {
	const idleIO = 3 << 13
	attr := unix.SchedAttr{Policy: unix.SCHED_BATCH, Nice: int32(niceness(0))}
	if unix.Getuid() == 0 {
		attr.Nice = 5
	}
	_, _, failed := unix.RawSyscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, 0, idleIO)
	_, _, refused := unix.RawSyscall(unix.SYS_PERSONALITY, addrNoRandomize, 0, 0)
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil || failed != 0 || refused != 0 {
		t.Errorf("sched_setattr: %v, ioprio_set: %v, personality: %v", err, failed, refused)
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1_000_000, 0, 0, 0); err != nil {
		t.Error(err)
	}
}
