package e2e

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestScience runs typical programs in Python, R and C inside, under the default limits: the sandbox must not break
// them. The programs check their results themselves. A new file testdata/science/test_* is run without a line here.
func TestScience(t *testing.T) {
	data := scienceData(t)
	for _, program := range matches(testdata(t, "science/test_*")) {
		t.Run(strings.TrimPrefix(filepath.Base(program), "test_"), func(t *testing.T) {
			t.Parallel()
			newHarness(t).science(program, "--data", data)
		})
	}
}

// TestThreadsFollowCPUs: a library that starts a thread for every core of the host takes longer than one that starts as
// many as it may use, and reaches the limit of processes.
func TestThreadsFollowCPUs(t *testing.T) {
	data := scienceData(t)
	for cpus, threads := range map[string]string{"0.5": "1", "2": "2", "3": "3"} {
		for _, program := range []string{"test_numpy.py", "test_openmp.c"} {
			t.Run(cpus+" "+program, func(t *testing.T) {
				t.Parallel()
				newHarness(t).science(testdata(t, "science/"+program), "--data", data, "--cpus", cpus, "--env", "THREADS="+threads)
			})
		}
	}
}

// science runs a program of testdata/science, all of whose tests must pass.
func (h *harness) science(program string, flags ...string) {
	h.t.Helper()
	args := append([]string{"--id", h.newID(), "--project", filepath.Dir(program)}, flags...)
	if filepath.Ext(program) == ".c" {
		args = append(args, "--input", h.build(program)+":/inputs/program", "--", "/inputs/program")
	} else {
		args = append(args, "--script", program)
	}
	r := h.start(args...)
	r.expect(h.t, "complete", "exit", 0)
	if said := h.stderrOf(r); !ranEverything(said, readFile(h.t, program)) {
		h.t.Errorf("not every test passed:\n%s%s", h.stdoutOf(r), said)
	}
	if refused := filepath.Base(program) == "test_sockets.py"; (r.AuditTotal > 0) != refused {
		h.t.Errorf("audit: %q; only test_sockets.py tries what is refused", r.said())
	}
}

// tests are the functions that a program's source has as tests, in Python, R and C.
var tests = regexp.MustCompile(`(?m)^ *(async )?def test_|^test\(|^TEST\(`)

// ok is how a test that passed is reported: after its name, or below what it said itself.
var ok = regexp.MustCompile(`(?m)(^| \.\.\. )ok$`)

// ranEverything reports whether a program reports as many passed tests as its source has.
func ranEverything(report, source string) bool {
	passed := len(ok.FindAllString(report, -1))
	return passed > 0 && passed == len(tests.FindAllString(source, -1))
}

// build compiles a program against the libraries of /usr, which it finds inside too.
func (h *harness) build(source string) string {
	h.t.Helper()
	program := h.path(filepath.Base(source) + ".bin")
	cmd := h.command("gcc", "-fopenmp", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, source, "-lm")
	if out := h.finish(cmd); out.code != 0 {
		h.t.Fatal(out.stderr)
	}
	return program
}

// scienceData makes the directory that the programs have as /data.
func scienceData(t *testing.T) string {
	t.Helper()
	h := newHarness(t)
	h.write("data/penguins.csv", readFile(t, "../../examples/data/penguins.csv"), 0o644)
	out := h.finish(h.command("/usr/bin/python3", "-B", testdata(t, "science/make_data.py"), h.path("data")))
	if out.code != 0 {
		t.Fatal(out.stderr)
	}
	return h.path("data")
}
