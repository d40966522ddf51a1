package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ended is how one execution of a test ended.
type ended struct {
	name   string
	err    error
	skip   bool
	output []byte
	wall   time.Duration
	cpu    time.Duration // of the process and of all descendants that it waited for
}

// listed lists the binary's tests.
func listed(ctx context.Context, binary string) ([]string, error) {
	cmd := exec.CommandContext(ctx, binary, "-test.list", "^Test")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s -test.list: %w", binary, err)
	}
	var names []string
	for _, word := range strings.Fields(string(out)) {
		if strings.HasPrefix(word, "Test") {
			names = append(names, word)
		}
	}
	return names, nil
}

// numbered is a test with its place in the order.
type numbered struct {
	number int
	name   string
}

// runAll runs the tests, o.jobs at a time, and says how each ended as it ends. A cancelled context ends those that run and
// starts no more.
func runAll(ctx context.Context, o options, names []string) []ended {
	var mu sync.Mutex
	var all []ended
	queue := make(chan numbered)
	var workers sync.WaitGroup
	for range o.jobs {
		workers.Go(func() {
			for test := range queue {
				e := runOne(ctx, o, test)
				mu.Lock()
				all = append(all, e)
				say(e, len(all), len(names))
				mu.Unlock()
			}
		})
	}
	for i, name := range names {
		if ctx.Err() == nil {
			queue <- numbered{i, name}
		}
	}
	close(queue)
	workers.Wait()
	if ctx.Err() != nil {
		all = append(all, ended{name: "(interrupted)", err: ctx.Err()})
	}
	return all
}

func say(e ended, nth, of int) {
	verdict := "ok  "
	switch {
	case e.err != nil:
		verdict = "FAIL"
	case e.skip:
		verdict = "skip"
	}
	fmt.Fprintf(os.Stderr, "%s %6.1f s %6.1f cpu-s  %d/%d %s\n", verdict, e.wall.Seconds(), e.cpu.Seconds(), nth, of, e.name)
}

func runOne(ctx context.Context, o options, test numbered) ended {
	name := test.name
	// A short path, since that of a Unix socket has at most 107 bytes.
	dir := filepath.Join(os.TempDir(), strconv.Itoa(test.number))
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // runs have other ids and read what tests prepare
		return ended{name: name, err: err}
	}
	defer os.RemoveAll(dir)
	var output bytes.Buffer
	cmd := command(ctx, o, name, dir)
	cmd.Stdout, cmd.Stderr = &output, &output
	start := time.Now()
	err := cmd.Run()
	e := ended{name: name, err: err, output: output.Bytes(), wall: time.Since(start)}
	if cmd.ProcessState != nil {
		e.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	e.skip = bytes.Contains(e.output, []byte("--- SKIP: "+name+" ("))
	if e.err == nil && !e.skip && !bytes.Contains(e.output, []byte("--- PASS: "+name+" (")) {
		e.err = errors.New("it was not run")
	}
	return e
}

// command makes the process of one test, which leads a process group. Cancelled, it gets SIGTERM and ends with what it
// started.
func command(ctx context.Context, o options, name, dir string) *exec.Cmd {
	pattern := "^" + name + "$"
	if _, sub, found := strings.Cut(o.pattern, "/"); found {
		pattern += "/" + sub
	}
	cmd := exec.CommandContext(ctx, o.binary, "-test.v", "-test.run", pattern, "-test.timeout", o.timeout.String(),
		"-test.shuffle", fmt.Sprint(o.seed))
	cmd.Dir = filepath.Dir(o.binary)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, fmt.Sprintf("SCIDEX_OCI_SEED=%d", o.seed))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}
