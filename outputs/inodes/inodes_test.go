package inodes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// within names a directory to the process of TestExplain that has a mount namespace of its own.
const within = "SCIDEX_OCI_TEST_INODES"

// TestExplain fills a tmpfs of few inodes, which is mounted in namespaces of another process and gone with it.
func TestExplain(t *testing.T) {
	if dir := os.Getenv(within); dir != "" {
		must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "nr_inodes=16,size=1m"))
		explain(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestExplain$")
	cmd.Env = append(os.Environ(), within+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func explain(t *testing.T, dir string) {
	path := filepath.Join(dir, "new", "file")
	full := &fs.PathError{Op: "mkdir", Path: path, Err: unix.ENOSPC}
	if err := Explain(fmt.Errorf("ingest: %w", full)); UsedUp(path) || strings.Contains(err.Error(), Advice) {
		t.Errorf("with free inodes: %v", err)
	}
	for i := 0; ; i++ {
		err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o600)
		if errors.Is(err, unix.ENOSPC) {
			break
		}
		must(t, err)
	}
	if err := Explain(fmt.Errorf("ingest: %w", full)); !UsedUp(path) || !strings.HasSuffix(err.Error(), Advice) || !errors.Is(err, full) {
		t.Errorf("without: %v", err)
	}
	if once := Explain(full); Explain(once).Error() != once.Error() {
		t.Errorf("twice: %v", Explain(once))
	}
	for _, other := range []error{unix.ENOSPC, &fs.PathError{Op: "open", Path: path, Err: unix.EACCES}} {
		if err := Explain(other); !errors.Is(err, other) || strings.Contains(err.Error(), Advice) {
			t.Errorf("%v became %v", other, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestNoInodesAreCounted(t *testing.T) {
	if UsedUp("/proc/self") || UsedUp("/proc/no/such/thing") {
		t.Error("/proc, which counts no inodes, has none left")
	}
}
