package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An export of many runs that is killed in the middle of a file leaves no directory that looks whole; the same command goes on.
func TestExportKilled(t *testing.T) {
	h := newHarness(t)
	id := h.id("big")
	h.start("--id", id, "--label", "of="+id, "--", "sh", "-c", "head -c 500M /dev/zero >big; echo x >small").expect(t, "complete", "exit", 0)
	dir := h.path("many")
	export := []string{"outputs", "export", "--label", "of=" + id, dir}
	for try := 1; !killedInTheMiddle(h, dir, id, export); try++ {
		if try == 10 {
			t.Fatal("ten exports ended before they could be killed")
		}
	}
	if left := namesIn(t, dir); !slices.Equal(left, []string{".scidex-export-" + id}) {
		t.Fatalf("a killed export left %q", left)
	}
	if out := h.mustRun(export...); !strings.Contains(out.stderr, "wrote 1 run below") {
		t.Errorf("%q", out.stderr)
	}
	if left := namesIn(t, dir); !slices.Equal(left, []string{id}) {
		t.Errorf("after the second there are %q", left)
	}
	if files := namesIn(t, filepath.Join(dir, id)); !slices.Equal(files, []string{"big", "scidex-result.json", "small"}) {
		t.Errorf("%q in the run's directory", files)
	}
	if info, err := os.Stat(filepath.Join(dir, id, "big")); err != nil || info.Size() != 500<<20 {
		t.Errorf("%v, %v", info, err)
	}
	if out := h.mustRun(export...); !strings.Contains(out.stderr, "wrote 0 runs below "+dir+"; 1 there already") {
		t.Errorf("%q", out.stderr)
	}
}

// killedInTheMiddle kills an export while it writes a file; false if it ended before.
func killedInTheMiddle(h *harness, dir, id string, export []string) bool {
	h.t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		h.t.Fatal(err)
	}
	cmd := h.command(theHost.bin, export...)
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	for {
		select {
		case <-ended:
			return false
		case <-time.After(time.Millisecond):
		}
		if entries, err := os.ReadDir(filepath.Join(dir, ".scidex-export-"+id)); err == nil && len(entries) > 0 {
			break
		}
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		h.t.Fatal(err)
	}
	<-ended
	_, err := os.Stat(filepath.Join(dir, id))
	return os.IsNotExist(err)
}

// namesIn are the names in a directory.
func namesIn(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}
