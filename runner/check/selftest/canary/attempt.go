package canary

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/dns"
)

// OK is the result of a step that succeeded.
const OK = "ok"

// Timeout of a connection.
const Timeout = 3 * time.Second

// Perform makes one attempt, inside a run or, as the control, outside.
func Perform(a Attempt) Outcome {
	switch a.Do {
	case "tcp":
		return step("connect", connectTCP(a.At))
	case "socket":
		return step("connect", connectSocket(a.At))
	case "dns":
		return step("ask", dns.Ask(a.At, Timeout))
	case "lookup":
		return step("lookup", lookUp(a.At))
	case "change directory":
		return changeDir(a.At)
	case "change file":
		return changeFile(a.At)
	case "create below":
		return createBelow(a.At, strings.Split(a.With, "\n"))
	case "connect below":
		return connectBelow(a.At, strings.Split(a.With, "\n"))
	case "stat":
		var st unix.Stat_t
		return step("stat", unix.Lstat(a.At, &st))
	case "read":
		return step("read", readAny(a.At))
	case "entries":
		return step("read", openAny(a.At))
	case "attach":
		return step("attach", attachShared(a.At))
	case "find process":
		return step("find", findProcess(a.At))
	case "signal":
		return Outcome{Got: map[string]string{"kill": signalTo(a.At)}}
	case "processes":
		return listProcesses()
	case "status":
		return status()
	case "environment":
		return environment(a.At)
	case "kernel file":
		return kernelFile(a.At)
	case "families":
		return openFamilies()
	case "privileges":
		return privileges()
	}
	return load(a)
}

// load makes the attempts that exceed a limit.
func load(a Attempt) Outcome {
	amount, err := strconv.ParseInt(a.With, 10, 64)
	if err != nil {
		return step("amount", err)
	}
	switch a.Do {
	case "memory":
		return takeMemory(amount)
	case "fork":
		return fork(amount)
	case "cpus":
		return useCPUs(amount)
	case "file":
		return writeFile(a.At, amount)
	case "files":
		return writeFiles(a.At, amount, FileBytes)
	case "empty files":
		return writeFiles(a.At, amount, 0)
	case "stderr":
		return writeStderr(amount)
	}
	return step("do", errors.New("unknown"))
}

// step is the outcome of an attempt with one step.
func step(name string, err error) Outcome {
	return Outcome{Got: map[string]string{name: errorName(err)}}
}

// errorName is the name of an error in errno(3), or a word for those of other kinds.
func errorName(err error) string {
	var errno unix.Errno
	var unresolved *net.DNSError
	switch {
	case err == nil:
		return OK
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
