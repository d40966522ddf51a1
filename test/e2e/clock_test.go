package e2e

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// underClock is underListener for a command whose clock a test sets: each read of CLOCK_REALTIME waits for its answer.
// The machine's own clock does not change.
const underClock = "e2e-under-clock"

// clockFilter notifies of looks at CLOCK_REALTIME, and of a call that libc makes at the start of each program (set_tid_address(2)).
func clockFilter() []unix.SockFilter {
	const numberOffset, argumentOffset = 0, 16 // of struct seccomp_data
	notify := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF}
	return []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: numberOffset},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SET_TID_ADDRESS, Jt: 0, Jf: 1},
		notify,
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLOCK_GETTIME, Jt: 0, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: argumentOffset},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.CLOCK_REALTIME, Jt: 0, Jf: 1},
		notify,
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
}

// setClock is how far a clock is ahead of the machine's, in nanoseconds, and how often it was looked at.
type setClock struct {
	ahead atomic.Int64
	looks atomic.Int64
	t     *testing.T
}

// judge answers a read of the clock, and hides the vDSO from each program at its start, since reads through it are no system calls.
func (c *setClock) judge(n notification) *answer {
	if n.Nr == unix.SYS_SET_TID_ADDRESS {
		if err := hideVDSO(int(n.Pid)); err != nil {
			c.t.Errorf("hide the vDSO: %v", err)
		}
		return &answer{Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	}
	c.looks.Add(1)
	now := unix.NsecToTimespec(time.Now().UnixNano() + c.ahead.Load())
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", n.Pid), os.O_WRONLY, 0)
	if err == nil {
		_, err = memory.WriteAt(unsafe.Slice((*byte)(unsafe.Pointer(&now)), unsafe.Sizeof(now)), int64(n.Args[1]))
		err = errors.Join(err, memory.Close())
	}
	if err != nil { // it was killed
		return &answer{Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	}
	return &answer{}
}

// hideVDSO makes AT_SYSINFO_EHDR of a program's auxiliary vector (getauxval(3)), which is on its stack, an entry to ignore.
func hideVDSO(pid int) error {
	const ignore, sysinfo, word = 1, 33, 8
	vector, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil || len(vector) == 0 {
		return err
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return err
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	for line := range strings.Lines(string(maps)) {
		if !strings.HasSuffix(line, "[stack]\n") {
			continue
		}
		from, to, _ := strings.Cut(strings.Fields(line)[0], "-")
		start, err := strconv.ParseInt(from, 16, 64)
		end, failed := strconv.ParseInt(to, 16, 64)
		if err := errors.Join(err, failed); err != nil {
			return err
		}
		stack := make([]byte, end-start)
		if _, err := memory.ReadAt(stack, start); err != nil {
			return err
		}
		at := bytes.LastIndex(stack, vector[:2*word])
		for ; at >= 0 && at+word < len(stack); at += 2 * word {
			switch binary.NativeEndian.Uint64(stack[at:]) {
			case 0:
				return nil
			case sysinfo:
				_, err := memory.WriteAt(binary.NativeEndian.AppendUint64(nil, ignore), start+int64(at))
				return err
			}
		}
	}
	return nil
}

// TestClockJumps: if the date of the host jumps while an analysis runs, its duration is that of the monotonic clock,
// and it does not end before it has started.
func TestClockJumps(t *testing.T) {
	mayListen(t)
	for name, by := range map[string]time.Duration{"ahead": 240 * time.Hour, "back": -240 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			id, f := h.newID(), h.flag()
			c := &setClock{t: t}
			done := make(chan outcome, 1)
			go func() {
				done <- h.listen(underClock, h.command(theHost.bin, "run", "--json", "--id", id, "--audit", "off", "--input", f.input(),
					"--", "sh", "-c", "echo ready; "+awaited), c.judge)
			}()
			h.logged(id, "ready")
			c.ahead.Store(int64(by))
			f.raise()
			out := <-done
			r, err := parseResult([]byte(out.stdout))
			if err != nil || c.looks.Load() == 0 {
				t.Fatalf("%v, %d looks at the clock, %s", err, c.looks.Load(), out.stderr)
			}
			r.expect(t, "complete", "exit", 0)
			for _, r := range []result{r, h.show(id)} {
				took := r.FinishedAt.Sub(*r.StartedAt)
				if wall := time.Duration(r.Usage.WallMS) * time.Millisecond; took < 0 || took > time.Hour || wall > time.Hour || r.StartedAt.Before(*r.CreatedAt) {
					t.Errorf("it was created at %v, started at %v, finished at %v, and ran for %v", r.CreatedAt, r.StartedAt, r.FinishedAt, wall)
				}
			}
		})
	}
}
