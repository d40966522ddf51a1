package selftest

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// succeeded is what a try says of a step that succeeded.
const succeeded = "ok"

// patience is how long a connection may take before it counts as no answer.
const patience = 3 * time.Second

// perform makes one try, inside or, as the control, outside.
func perform(t try) outcome {
	switch t.Do {
	case "tcp":
		return step("connect", connectTCP(t.At))
	case "socket":
		return step("connect", connectSocket(t.At))
	case "dns":
		return step("ask", ask(t.At))
	case "lookup":
		return step("lookup", lookUp(t.At))
	case "spoil":
		return spoil(t.At)
	case "change":
		return change(t.At)
	case "plant":
		return plant(t.At, strings.Split(t.With, "\n"))
	case "search":
		return search(t.At, strings.Split(t.With, "\n"))
	case "stat":
		var st unix.Stat_t
		return step("stat", unix.Lstat(t.At, &st))
	case "read":
		return step("read", readSome(t.At))
	case "entries":
		return step("read", openOne(t.At))
	case "shm":
		return step("attach", attachShared(t.At))
	case "named":
		return step("find", findProcess(t.At))
	case "signal":
		return outcome{Got: map[string]string{"kill": signalTo(t.At)}}
	case "processes":
		return listProcesses()
	case "status":
		return status()
	case "environment":
		return environment(t.At)
	case "text":
		return text(t.At)
	case "families":
		return openFamilies()
	case "privileges":
		return privileges()
	}
	return strain(t)
}

// strain makes the tries that strain a limit.
func strain(t try) outcome {
	amount, err := strconv.ParseInt(t.With, 10, 64)
	if err != nil {
		return step("amount", err)
	}
	switch t.Do {
	case "hog":
		return hog(amount)
	case "fork":
		return fork(amount)
	case "burn":
		return burn(amount)
	case "fill":
		return fill(t.At, amount)
	case "pile":
		return pile(t.At, amount, pileBytes)
	case "litter":
		return pile(t.At, amount, 0)
	case "flood":
		return flood(amount)
	case "room":
		return room(t.At)
	}
	return step("do", errors.New("unknown"))
}

// step is the outcome of a try with one step.
func step(name string, err error) outcome { return outcome{Got: map[string]string{name: word(err)}} }

// word names an error as errno(3) does.
func word(err error) string {
	var errno unix.Errno
	var unresolved *net.DNSError
	switch {
	case err == nil:
		return succeeded
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.As(err, &unresolved):
		if unresolved.IsTimeout {
			return "timeout"
		}
		return "unresolved"
	case errors.As(err, &errno):
		if name := unix.ErrnoName(errno); name != "" {
			return name
		}
		return "errno " + strconv.Itoa(int(errno))
	}
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return "timeout"
	}
	return "error"
}
