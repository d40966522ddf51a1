// Package inodetest makes files, sockets and mounts for tests of access by descriptor.
package inodetest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// Try ends the test on an error.
func Try(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Tree makes files (names ending in / are directories) in a new directory that everyone may read.
func Tree(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	Try(t, os.Chmod(dir, 0o755))
	for _, name := range names {
		path := filepath.Join(dir, name)
		Try(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if strings.HasSuffix(name, "/") {
			Try(t, os.MkdirAll(path, 0o755))
		} else {
			Try(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o644))
		}
	}
	return dir
}

// Open opens a file as inputs are opened, until the test ends.
func Open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := inode.Open(path)
	Try(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// Listen makes a unix socket until the test ends.
func Listen(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	Try(t, err)
	t.Cleanup(func() { l.Close() })
}

// ExpectRefusal demands an error with all words; without words, no error.
func ExpectRefusal(t *testing.T, err error, words ...string) {
	t.Helper()
	if len(words) == 0 && err != nil {
		t.Errorf("refused: %v", err)
	}
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want %q in it", err, word)
		}
	}
}

// WithMounts calls do on a thread with its own mount namespace.
func WithMounts(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			t.Error(err)
			return
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Error(err)
			return
		}
		do()
	}()
	<-done
}

// BindMount mounts one file on another.
func BindMount(t *testing.T, from, to string) {
	t.Helper()
	Try(t, unix.Mount(from, to, "", unix.MS_BIND, ""))
}
