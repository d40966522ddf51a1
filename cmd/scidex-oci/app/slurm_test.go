package app

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/sqlite"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/slurm"
)

// newDesk has a Slurm that takes every job and forgets it at once, but for the commands that are given.
func newDesk(t *testing.T, commands map[string]string) desk {
	t.Helper()
	d := desk{t, t.TempDir()}
	all := map[string]string{
		"sbatch": "echo 7", "squeue": "", "scancel": "", "scontrol": "", "sacct": "echo Slurm accounting storage is disabled >&2; exit 1",
	}
	maps.Copy(all, commands)
	if err := os.Mkdir(d.path("tools"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, script := range all {
		d.write("tools/"+name, "#!/bin/sh\n"+script+"\n", 0o755)
	}
	t.Setenv("PATH", d.path("tools")+":"+os.Getenv("PATH"))
	return d
}

// The blob store of a submission belongs to its catalog from the beginning, and no other catalog takes it.
func TestSlurmBindsTheBlobs(t *testing.T) {
	d := newDesk(t, nil)
	s := d.submit("spool", "a")
	if d.bound("root") != s.Submission.CatalogID {
		t.Errorf("after submit the blob store belongs to %q, not to %q", d.bound("root"), s.Submission.CatalogID)
	}
	if err := os.Remove(d.path("root/blobs/catalog_id")); err != nil && !errors.Is(err, fs.ErrNotExist) { // as before it was bound here
		t.Fatal(err)
	}
	d.deliver(s, 1)
	if code, _, stderr := d.runWith("other", "slurm", "collect", s.Dir); code != outcome.ExitError || !strings.Contains(stderr, "is of catalog") || d.bound("other") != "" {
		t.Errorf("another catalog: code %d, %s; its blob store belongs to %q", code, stderr, d.bound("other"))
	}
	if code, _, stderr := d.run("slurm", "collect", s.Dir); code != 1 {
		t.Errorf("code %d, %s", code, stderr)
	}
	if d.bound("root") != s.Submission.CatalogID {
		t.Errorf("after collect the blob store belongs to %q, not to %q", d.bound("root"), s.Submission.CatalogID)
	}
}

// TestSlurmKilledCollect runs gc after a collect was killed between its two writes: gc leaves the run to the next collect.
func TestSlurmKilledCollect(t *testing.T) {
	d := newDesk(t, nil)
	s := d.submit("spool", "a")
	d.deliver(s, 1)
	run, err := s.Peek(1)
	if err != nil {
		t.Fatal(err)
	}
	cat, err := sqlite.Open(t.Context(), d.path("root/catalog.db"))
	if err == nil {
		err = errors.Join(cat.Create(t.Context(), store.Intent(run)), cat.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	d.good("gc")
	if code, stdout, stderr := d.run("slurm", "collect", s.Dir); code != 1 || !strings.Contains(stdout, `"state":"failed"`) {
		t.Errorf("code %d, %s%s", code, stdout, stderr)
	}
}

// A record that is damaged once it is collected is told with its path, and keeps no other from being collected.
func TestSlurmDamagedRecord(t *testing.T) {
	d := newDesk(t, nil)
	d.write("queue", "", 0o644)
	d.write("tools/squeue", "#!/bin/sh\ncat "+format.ShellQuote(d.path("queue"))+"\n", 0o755)
	s := d.submit("spool", "a", "b")
	d.write("queue", "7|1|RUNNING|n1|None|"+s.Submission.JobName(0)+"\n", 0o644)
	d.deliver(s, 1)
	if code, _, stderr := d.run("slurm", "collect", s.Dir); code != 1 || !strings.Contains(stderr, "1 line under way") {
		t.Fatalf("code %d, %s", code, stderr)
	}
	d.write("spool/results/1", "", 0o600)
	d.deliver(s, 2)
	code, stdout, stderr := d.run("slurm", "collect", s.Dir)
	if code != outcome.ExitError || !strings.Contains(stdout, `"id":"b"`) || !strings.Contains(stderr, "line 1: result "+s.Path(1)+": the file is damaged") {
		t.Errorf("code %d, %s%s", code, stdout, stderr)
	}
}

// TestSlurmHiccup: whoever waits asks a controller that does not answer again, and is told so once.
func TestSlurmHiccup(t *testing.T) {
	d := newDesk(t, nil)
	s := d.submit("spool", "a")
	d.write("tools/squeue", "#!/bin/sh\necho >>"+format.ShellQuote(d.path("asked"))+"\n[ $(wc -l <"+format.ShellQuote(d.path("asked"))+") -gt 3 ] || { echo Socket timed out >&2; exit 1; }\n", 0o755)
	if code, _, stderr := d.run("slurm", "collect", s.Dir); code != outcome.ExitError || !strings.Contains(stderr, "Socket timed out") {
		t.Errorf("without --wait: code %d, %s", code, stderr)
	}
	code, stdout, stderr := d.run("slurm", "collect", "--wait", "--poll=100ms", s.Dir)
	if code != 1 || !strings.Contains(stdout, `"state":"canceled"`) || strings.Count(stderr, "Socket timed out") != 1 {
		t.Errorf("code %d, %s%s", code, stdout, stderr)
	}
	other := d.submit("other", "b")
	if err := os.Remove(d.path("tools/squeue")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", d.path("tools"))
	if code, _, stderr := d.run("slurm", "collect", "--wait", "--poll=100ms", other.Dir); code != outcome.ExitError || !strings.Contains(stderr, "squeue was not found in PATH") {
		t.Errorf("with no squeue: code %d, %s", code, stderr)
	}
}

// TestSlurmTwiceSubmitted: two submissions of one id are two attempts, whichever is collected first.
func TestSlurmTwiceSubmitted(t *testing.T) {
	d := newDesk(t, nil)
	one := d.submit("one", "a")
	two := d.submit("two", "a")
	d.deliver(one, 1)
	d.deliver(two, 1)
	for n, s := range []slurm.Spool{two, one, two} {
		want := 1
		if n == 2 { // nothing is new
			want = 0
		}
		if code, _, stderr := d.run("slurm", "collect", s.Dir); code != want {
			t.Errorf("%s: code %d, want %d, %s", s.Dir, code, want, stderr)
		}
	}
	if got := strings.Count(d.good("ls", "--json"), "\n"); got != 2 {
		t.Errorf("%d runs, want 2", got)
	}
	d.good("show", "a@1")
	d.good("show", "a@2")
}

// TestSlurmHalfSubmitted: a submission that fails or is stopped leaves no job, or says so.
func TestSlurmHalfSubmitted(t *testing.T) {
	const fails = `[ "$(echo "$@" | grep -c array-0)" = 1 ] && echo 7 || { echo no more >&2; exit 1; }`
	const stopped = `kill -INT $PPID; sleep 0.3; echo made >>"$0.made"; echo 7`
	for _, tt := range []struct {
		name, sbatch, scancel string
		code                  int
		words                 []string
		left                  bool
	}{
		{"one fails", fails, `echo "$@" >>"$0.called"`, outcome.ExitError, []string{"no more; nothing was submitted"}, false},
		{"one fails, and they stay", fails, "echo no controller >&2; exit 1", outcome.ExitError, []string{"no more", "no controller", "slurm cancel '"}, true},
		{"stopped", stopped, `echo "$@" >>"$0.called"`, 130, []string{"stopped by SIGINT"}, false},
		{"stopped, and it stays", stopped, "echo no controller >&2; exit 1", 130, []string{"stopped by SIGINT", "no controller", "slurm cancel '"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, map[string]string{"sbatch": tt.sbatch, "scancel": tt.scancel})
			d.write("lines", sheet("a")+`{"id":"b","command":["true"],"memory":"1GiB"}`, 0o644)
			code, stdout, stderr := d.run("slurm", "submit", "--spool", d.path("my spool"), d.path("lines"))
			if code != tt.code || stdout != "" || strings.Contains(stderr, "nothing was submitted") && tt.left {
				t.Errorf("code %d, %s%s", code, stdout, stderr)
			}
			for _, word := range tt.words {
				if !strings.Contains(stderr, word) {
					t.Errorf("%s does not say %q", stderr, word)
				}
			}
			if _, err := os.Lstat(d.path("my spool")); (err == nil) != tt.left {
				t.Errorf("the spool: %v", err)
			}
			if _, err := os.Lstat(d.path("tools/sbatch.made")); tt.sbatch == stopped && err != nil {
				t.Errorf("sbatch was killed at work: %v", err)
			}
			called, _ := os.ReadFile(d.path("tools/scancel.called")) // none is ""
			if !tt.left && !strings.Contains(string(called), "--name=scidex-oci-") {
				t.Errorf("scancel %s", called)
			}
		})
	}
}

// TestSlurmNothingNew: a collect after the last one ends with 0 and says that there was nothing new, also beside lines that are lost
// or under way; what cannot be committed is an error each time.
func TestSlurmNothingNew(t *testing.T) {
	d := newDesk(t, nil)
	d.write("queue", "", 0o644)
	d.write("tools/squeue", "#!/bin/sh\ncat "+format.ShellQuote(d.path("queue"))+"\n", 0o755)
	s := d.submit("spool", "a", "b", "c")
	d.write("queue", "7|2|RUNNING|n1|None|"+s.Submission.JobName(0)+"\n", 0o644) // of the others Slurm knows nothing any more
	d.deliver(s, 1)
	collect := func(want int, said string) {
		t.Helper()
		code, stdout, stderr := d.run("slurm", "collect", s.Dir)
		if code != want || !strings.Contains(stderr, said) || strings.Contains(stderr, "nothing new") != (stdout == "") {
			t.Errorf("code %d, want %d, %s%s", code, want, stdout, stderr)
		}
	}
	collect(1, "1 failed, 1 canceled")
	collect(0, "nothing new; so far 0 complete, 1 failed, 1 canceled, 0 errors; 1 line under way")
	d.write("queue", "", 0o644)
	collect(1, "1 failed, 2 canceled")
	collect(0, "nothing new")
	d.write("spool/results/1", "", 0o600)
	if code, _, stderr := d.run("slurm", "collect", s.Dir); code != outcome.ExitError || strings.Contains(stderr, "nothing new") {
		t.Errorf("a damaged record: code %d, %s", code, stderr)
	}
}
