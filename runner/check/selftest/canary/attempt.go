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
)

// OK is the result of a step that succeeded.
const OK = "ok"

// Timeout of a connection.
const Timeout = 3 * time.Second

// Perform makes one attempt, inside a run or, as the control, outside.
func Perform(a Attempt) Outcome {
	perform, known := performers[a.Do]
	if !known {
		return step("do", errors.New("unknown"))
	}
	return perform(a)
}

// performers of the attempts, by what they do.
var performers = map[string]func(Attempt) Outcome{
	"tcp":              one("connect", connectTCP),
	"socket":           one("connect", connectSocket),
	"dns":              one("ask", askDNS),
	"lookup":           one("lookup", lookUp),
	"proxy":            func(a Attempt) Outcome { return Outcome{Got: map[string]string{"ask": askProxy(a.At)}} },
	"stat":             one("stat", func(path string) error { return unix.Lstat(path, &unix.Stat_t{}) }),
	"read":             one("read", readAny),
	"entries":          one("read", openAny),
	"attach":           one("attach", attachShared),
	"find process":     one("find", findProcess),
	"change directory": func(a Attempt) Outcome { return changeDir(a.At) },
	"change file":      func(a Attempt) Outcome { return changeFile(a.At) },
	"create below":     func(a Attempt) Outcome { return createBelow(a.At, strings.Split(a.With, "\n")) },
	"connect below":    func(a Attempt) Outcome { return connectBelow(a.At, strings.Split(a.With, "\n")) },
	"signal init":      func(Attempt) Outcome { return Outcome{Got: map[string]string{"init": errorName(unix.Kill(1, 0))}} },
	"signal":           func(a Attempt) Outcome { return Outcome{Got: map[string]string{"kill": signalTo(a.At)}} },
	"environment":      func(a Attempt) Outcome { return environment(a.At) },
	"kernel file":      func(a Attempt) Outcome { return kernelFile(a.At) },
	"processes":        func(Attempt) Outcome { return listProcesses() },
	"status":           func(Attempt) Outcome { return status() },
	"families":         func(Attempt) Outcome { return openFamilies() },
	"privileges":       func(Attempt) Outcome { return privileges() },
	// Those that exceed a limit.
	"memory":      load(func(_ string, bytes int64) Outcome { return takeMemory(bytes) }),
	"fork":        load(func(_ string, processes int64) Outcome { return fork(processes) }),
	"cpus":        load(func(_ string, threads int64) Outcome { return useCPUs(threads) }),
	"stderr":      load(func(_ string, bytes int64) Outcome { return writeStderr(bytes) }),
	"file":        load(writeFile),
	"files":       load(func(dir string, files int64) Outcome { return writeFiles(dir, files, FileBytes) }),
	"empty files": load(func(dir string, files int64) Outcome { return writeFiles(dir, files, 0) }),
}

// one makes an attempt of one step.
func one(name string, do func(at string) error) func(Attempt) Outcome {
	return func(a Attempt) Outcome { return step(name, do(a.At)) }
}

// load makes an attempt with an amount.
func load(do func(at string, amount int64) Outcome) func(Attempt) Outcome {
	return func(a Attempt) Outcome {
		amount, err := strconv.ParseInt(a.With, 10, 64)
		if err != nil {
			return step("amount", err)
		}
		return do(a.At, amount)
	}
}

// step is the outcome of an attempt with one step.
func step(name string, err error) Outcome {
	return Outcome{Got: map[string]string{name: errorName(err)}}
}

func counted(name string, err error, count int64) Outcome {
	return Outcome{Got: map[string]string{name: errorName(err)}, Count: count}
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
