package canary

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// takeMemory takes so many bytes, or as many as it gets, unless it is killed. It frees all of them.
func takeMemory(bytes int64) Outcome {
	const chunk = 4 << 20
	var taken [][]byte
	var err error
	for got := int64(0); got < bytes && err == nil; got += chunk {
		var memory []byte
		memory, err = unix.Mmap(-1, 0, chunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		for i := 0; i < len(memory); i += 4096 {
			memory[i] = 1
		}
		taken = append(taken, memory)
	}
	for _, memory := range taken {
		if memory != nil {
			_ = unix.Munmap(memory) // it was mapped a moment ago
		}
	}
	return counted("take", err, int64(len(taken))*chunk)
}

// fork starts so many processes, or as many as it may, and ends all of them.
func fork(most int64) Outcome {
	runtime.LockOSThread()
	var children []int
	var err error
	for int64(len(children)) < most {
		pid, errno := forkIdle()
		if errno != 0 {
			err = errno
			break
		}
		children = append(children, int(pid))
	}
	for _, pid := range children {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, nil, 0, nil)
	}
	return counted("fork", err, int64(len(children)))
}

// forkIdle forks a child that waits to be killed. The child has a single thread and no Go runtime: it makes raw system calls
// only, as that of syscall.ForkExec.
//
//go:norace
//go:noinline
func forkIdle() (pid uintptr, errno unix.Errno) {
	pid, _, errno = unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno == 0 && pid == 0 {
		for {
			_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0) // until it is killed
		}
	}
	return pid, errno
}

// BusyTime is how long useCPUs keeps processors busy.
const BusyTime = time.Second

// useCPUs keeps so many threads busy.
func useCPUs(threads int64) Outcome {
	runtime.GOMAXPROCS(int(threads))
	end := time.Now().Add(BusyTime)
	done := make(chan struct{})
	for range threads {
		go func() {
			for time.Now().Before(end) {
			}
			done <- struct{}{}
		}()
	}
	for range threads {
		<-done
	}
	return step("use", nil)
}

// writeFile writes a file of so many bytes, or as many as fit, and removes it.
func writeFile(dir string, most int64) Outcome {
	name := dir + "/" + fileName
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return step("write", err)
	}
	found := write(f, make([]byte, 256<<10), most)
	if err := errors.Join(f.Close(), os.Remove(name)); err != nil {
		found.Got["remove"] = errorName(err)
	}
	return found
}

// write repeats a chunk until so many bytes are written, or as many as fit.
func write(f *os.File, chunk []byte, most int64) Outcome {
	var written int64
	var err error
	for written < most && err == nil {
		var n int
		n, err = f.Write(chunk)
		written += int64(n)
	}
	return counted("write", err, written)
}

// FileBytes is the size of a file of the attempt "files".
const FileBytes = 256 << 10

// writeFiles writes so many files of a size, or as many as fit, and leaves them.
func writeFiles(dir string, most int64, bytes int) Outcome {
	content := make([]byte, bytes)
	var made int64
	var err error
	for made < most {
		if err = os.WriteFile(fmt.Sprintf("%s/%s-%d", dir, fileName, made), content, 0o600); err != nil {
			break
		}
		made++
	}
	return counted("write", err, made)
}

// writeStderr writes so many bytes to standard error.
func writeStderr(bytes int64) Outcome {
	return write(os.Stderr, append(slices.Repeat([]byte("."), 1023), '\n'), bytes)
}

// linger ignores SIGTERM and never returns.
func linger() {
	signal.Ignore(unix.SIGTERM)
	for {
		time.Sleep(time.Hour)
	}
}
