package selftest

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// hog takes memory until it has so many bytes, or gets no more, or is killed for it. It gives all of it
// back.
func hog(bytes int64) outcome {
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
	found := step("take", err)
	found.Count = int64(len(taken)) * chunk
	return found
}

// fork starts so many processes, or as many as it may. It ends all of them.
func fork(most int64) outcome {
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
	found := step("fork", err)
	found.Count = int64(len(children))
	return found
}

// forkIdle forks a child that waits to be killed. The child is a thread without its runtime: it makes
// system calls that Go does not know about and nothing else, as syscall.ForkExec's does.
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

// burnTime is how long processors are kept busy.
const burnTime = time.Second

// burn keeps so many threads busy.
func burn(threads int64) outcome {
	runtime.GOMAXPROCS(int(threads))
	end := time.Now().Add(burnTime)
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
	return step("burn", nil)
}

// fill writes a file until it has so many bytes, or no more go in, and removes it.
func fill(dir string, most int64) outcome {
	name := dir + "/" + plantName
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return step("write", err)
	}
	chunk := make([]byte, 256<<10)
	var written int64
	for written < most && err == nil {
		var n int
		n, err = f.Write(chunk)
		written += int64(n)
	}
	found := step("write", err)
	found.Count = written
	if err := errors.Join(f.Close(), os.Remove(name)); err != nil {
		found.Got["remove"] = word(err)
	}
	return found
}

// pileBytes is the size of a file of a pile.
const pileBytes = 256 << 10

// pile makes so many files of a size, or as many as go in, and leaves them there.
func pile(dir string, most int64, bytes int) outcome {
	content := make([]byte, bytes)
	var made int64
	var err error
	for made < most {
		if err = os.WriteFile(fmt.Sprintf("%s/%s-%d", dir, plantName, made), content, 0o600); err != nil {
			break
		}
		made++
	}
	found := step("write", err)
	found.Count = made
	return found
}

// flood writes so many bytes to standard error.
func flood(bytes int64) outcome {
	line := make([]byte, 1024)
	for i := range line {
		line[i] = '.'
	}
	line[len(line)-1] = '\n'
	var written int64
	var err error
	for written < bytes && err == nil {
		var n int
		n, err = os.Stderr.Write(line)
		written += int64(n)
	}
	found := step("write", err)
	found.Count = written
	return found
}

// room is the size of a file system.
func room(path string) outcome {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return step("statfs", err)
	}
	return outcome{Got: map[string]string{"bytes": strconv.FormatUint(st.Blocks*uint64(st.Bsize), 10)}}
}

// linger ends with a signal that cannot be caught.
func linger() {
	signal.Ignore(unix.SIGTERM)
	for {
		time.Sleep(time.Hour)
	}
}
