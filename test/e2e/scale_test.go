package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// scaleMemory is what the launcher and the supervisor of a run may each have resident at most (VmHWM), however many
// files the run leaves. If SCIDEX_OCI_SOAK is set, there are so many that a listing of them would not fit.
const scaleMemory = 64 << 20

// scaleFiles is how many files a run leaves, a twentieth of what SCIDEX_OCI_SOAK requests.
func scaleFiles() int {
	if os.Getenv("SCIDEX_OCI_SOAK") != "" {
		return 200_000
	}
	return 10_000
}

// fill makes files of different content, a thousand in each directory, and one FIFO for each ten files.
const fill = `
import os, sys
for i in range(int(sys.argv[1])):
    directory = f"d{i // 1000:04}"
    if i % 1000 == 0: os.mkdir(directory)
    with open(f"{directory}/f{i:07}", "w") as f: f.write(f"{i}\n")
    if i % 10 == 0: os.mkfifo(f"{directory}/p{i:07}")
`

// TestScale harvests many files in bounded memory, lists and exports all of them, and removes them.
func TestScale(t *testing.T) {
	h := newHarness(t)
	n := scaleFiles()
	pipes := n / 10
	id, r := h.id("many"), result{}
	h.fillInBoundedMemory(leaving{id: id, program: fill, n: n, blobs: n}, &r)
	r.expect(t, "complete", "exit", 0)
	if r.OutputsTotal != int64(n) || r.RejectedTotal != int64(pipes) || !r.ListingTruncated || len(r.Outputs)+len(r.Rejected) != 10_000 {
		t.Errorf("totals %d and %d, %d and %d listed, truncated: %v", r.OutputsTotal, r.RejectedTotal, len(r.Outputs), len(r.Rejected), r.ListingTruncated)
	}
	r.listsFirst(t)
	shown := h.show(id)
	if len(shown.Outputs) != len(r.Outputs) || shown.Outputs[len(r.Outputs)-1].Path != r.Outputs[len(r.Outputs)-1].Path {
		t.Errorf("show lists %d outputs, run %d", len(shown.Outputs), len(r.Outputs))
	}
	h.listsAll(n, pipes, "outputs", "ls", id)
	h.listsAll(n, pipes, "outputs", "ls", "--json", id)
	h.exportsAll(id, n)
	h.mustRun("rm", id)
	old := time.Now().Add(-2 * time.Hour) // younger blobs are kept
	for _, blob := range matches(filepath.Join(h.root, "blobs/sha256/*")) {
		if err := os.Chtimes(blob, old, old); err != nil {
			t.Fatal(err)
		}
	}
	h.gc()
	if left := matches(filepath.Join(h.root, "blobs/*/*")); len(left) > 0 {
		t.Errorf("%d blobs and ingest directories are left after rm and gc", len(left))
	}
}

// leaving is a run of a program that leaves as many files as its argument says.
type leaving struct {
	id, program string
	n, blobs    int // its argument, and how many different files it leaves
}

// fillInBoundedMemory runs it. The supervisor is measured when it has harvested everything and the commit waits for a
// lock, the launcher when it has made the result and waits for its reader.
func (h *harness) fillInBoundedMemory(f leaving, r *result) {
	t, end := h.t, h.flag()
	h.write("fill.py", f.program, 0o644)
	script := fmt.Sprintf("python3 /inputs/fill.py %d && echo ready >&2; %s", f.n, awaited)
	cmd := exec.CommandContext(t.Context(), theHost.bin, append(flags("run", "--json", "--id", f.id, "--work-files=2000000", "--timeout=1h",
		"--data=none", "--docs=none", "--input", h.path("fill.py"), "--input", end.input()), shell(script)...)...)
	cmd.Dir, cmd.Env = h.dir, h.env
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(stderr).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	supervisor := (&flooding{cmd: cmd}).supervisor(t)
	release := h.lockCatalog()
	end.raise()
	until(t, time.Hour, "all files are published", func() bool { return h.blobs() >= f.blobs })
	boundedMemory(t, "supervisor", supervisor)
	release()
	first := make([]byte, 1)
	if _, err := io.ReadFull(stdout, first); err != nil {
		t.Fatal(err)
	}
	boundedMemory(t, "launcher", cmd.Process.Pid)
	rest, err := io.ReadAll(stdout)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if *r, err = parseResult(append(first, rest...)); err != nil {
		t.Fatal(err)
	}
}

// blobs counts the blobs of this harness.
func (h *harness) blobs() int {
	entries, err := os.ReadDir(filepath.Join(h.root, "blobs/sha256"))
	if err != nil {
		h.t.Fatal(err)
	}
	return len(entries)
}

func boundedMemory(t *testing.T, who string, pid int) {
	t.Helper()
	most := residentMost(t, pid)
	t.Logf("the %s had %d MiB at most", who, most>>20)
	if inSoak() && most > scaleMemory {
		t.Errorf("the harvest took the %s to %d bytes", who, most)
	}
}

// listsFirst checks that the result lists the first entries by path: in each directory files before FIFOs.
func (r result) listsFirst(t *testing.T) {
	t.Helper()
	for i, o := range r.Outputs {
		if want := fmt.Sprintf("d%04d/f%07d", i/1000, i); o.Path != want || o.SHA256 != digest([]byte(strconv.Itoa(i)+"\n")) {
			t.Fatalf("output %d is %+v, want %s", i, o, want)
		}
	}
	for i, e := range r.Rejected {
		if want := fmt.Sprintf("d%04d/p%07d", i/100, 10*i); e.Path != want || e.Reason != "fifo" {
			t.Fatalf("rejected %d is %+v, want %s", i, e, want)
		}
	}
}

// listsAll counts the lines of a listing.
func (h *harness) listsAll(outputs, rejected int, args ...string) {
	h.t.Helper()
	got := h.mustRun(args...).stdout
	refused := strings.Count(got, "rejected")
	if all := strings.Count(got, "\n"); refused != rejected || all != outputs+rejected {
		h.t.Errorf("%q: %d lines, %d of them rejected; want %d, %d", args, all, refused, outputs+rejected, rejected)
	}
}

func (h *harness) exportsAll(id string, n int) {
	h.t.Helper()
	h.mustRun("outputs", "export", id, "exported")
	files := 0
	err := filepath.WalkDir(h.path("exported"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "scidex-result.json" {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		number := strings.TrimLeft(strings.TrimPrefix(entry.Name(), "f"), "0")
		if number == "" {
			number = "0"
		}
		if err == nil && !bytes.Equal(content, []byte(number+"\n")) {
			h.t.Errorf("%s was exported as %q", path, content)
		}
		return err
	})
	if err != nil || files != n {
		h.t.Errorf("%d files were exported, want %d (%v)", files, n, err)
	}
}
