package slurm

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/spooled"
	"github.com/scidex-ai/scidex-oci/spec"
	"github.com/scidex-ai/scidex-oci/test/durable"
)

func TestSizeOf(t *testing.T) {
	for _, tt := range []struct {
		name string
		a    spec.Analysis
		want Size
	}{
		{"the defaults", spec.Analysis{}, Size{MemoryMiB: 2048 + 128, CPUs: 1, Minutes: 36, Signal: 5 + 64 + 60}},
		{"parts are rounded up", spec.Analysis{Memory: spec.MiB + 1, CPUs: 2.1, Timeout: spec.Duration(time.Second)}, Size{MemoryMiB: 130, CPUs: 3, Minutes: 6, Signal: 129}},
		{"a long harvest", spec.Analysis{WorkSize: 160 * spec.GiB, Grace: spec.Duration(time.Minute)}, Size{MemoryMiB: 2176, CPUs: 1, Minutes: 206, Signal: 60 + 10240 + 60}},
	} {
		got := SizeOf(tt.a)
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
		// Slurm may signal a minute too early, and the analysis has its time all the same.
		if a := tt.a.WithDefaults(); time.Duration(got.Minutes)*time.Minute-time.Duration(got.Signal)*time.Second-signalSlack < time.Duration(a.Timeout)+startTime {
			t.Errorf("%s: Slurm's signal comes before the timeout", tt.name)
		}
	}
}

func TestArrays(t *testing.T) {
	small, large := Size{MemoryMiB: 1}, Size{MemoryMiB: 2}
	var lines []Sized
	for n := 1; n <= 2100; n++ {
		size := small
		if n%700 == 0 {
			size = large
		}
		lines = append(lines, Sized{n, size})
	}
	all := Arrays(lines)
	var sizes []int
	var seen []int
	for _, array := range all {
		sizes = append(sizes, len(array.Lines))
		seen = append(seen, array.Lines...)
	}
	slices.Sort(seen)
	if !reflect.DeepEqual(sizes, []int{1000, 3, 1000, 97}) || len(slices.Compact(seen)) != 2100 {
		t.Errorf("%d tasks in arrays of %v", len(seen), sizes)
	}
}

func TestCheckArgument(t *testing.T) {
	for _, good := range []string{"--constraint=avx2", "-pmain", "--mem-bind=local", "--qos=x", "--nodelist=n1", "--exclude=n2", "--comment=--time"} {
		if err := CheckArgument(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"--time=5", "-t5", "--arr=1", "--wait", "-W", "--export=ALL", "main", "-", "--", "", "--requeue", "-Mother", "--mem-per-cpu=3"} {
		if CheckArgument(bad) == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

func aSpool(t *testing.T) Spool {
	t.Helper()
	s := Submission{Name: "x", Arrays: []Array{{Lines: []int{1, 2, 3}}, {Lines: []int{4}}}}
	var lines []spooled.Line
	for n := 1; n <= 4; n++ {
		lines = append(lines, spooled.Line{Number: n, ID: fmt.Sprint("id", n), Attempt: 1, CreatedAt: time.Now().UTC(), Request: json.RawMessage(`{"command":["true"]}`)})
	}
	made, err := Create(filepath.Join(t.TempDir(), "spool"), s, lines)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestRead reads what Slurm 22.05 has said; of accounting what its manual page has.
func TestRead(t *testing.T) {
	s, all := aSpool(t), map[TaskID]Status{}
	queue := "12|0|RUNNING|n2|None|x-0\n12|1|OUT_OF_MEMORY|n1|OutOfMemory|x-0\n13|0|PENDING||Resources|x-1\n14|0|RUNNING|n1|None|other\n15|N/A|RUNNING|n1|None|a|b\n16|9|RUNNING|n1|None|x-9\n"
	if err := s.readQueue(queue, all); err != nil {
		t.Fatal(err)
	}
	accounts := "12_0|COMPLETED|n9|x-0\n12_2|CANCELLED by 1000|None assigned|x-0\n12_[2-2]|PENDING|None assigned|x-0\n99_2|FAILED|n1|other\n"
	if err := s.readAccounts(accounts, all); err != nil {
		t.Fatal(err)
	}
	want := map[TaskID]Status{
		{0, 0}: {"12", "RUNNING", "n2", ""}, {0, 1}: {"12", "OUT_OF_MEMORY", "n1", "OutOfMemory"}, {0, 2}: {"12", "CANCELLED", "", ""},
		{1, 0}: {"13", "PENDING", "", "Resources"},
	}
	if !reflect.DeepEqual(all, want) {
		t.Errorf("read %v, want %v", all, want)
	}
	if s.readQueue("slurm is away\n", all) == nil || s.readAccounts("what\n", all) == nil {
		t.Error("what cannot be read was read")
	}
	for state, ended := range map[string]bool{"": true, "NODE_FAIL": true, "COMPLETING": false, "PENDING": false, "A_NEW_ONE": false, "CANCELLED": true, "SUSPENDED": false} {
		if (Status{State: state}).Ended() != ended {
			t.Errorf("%q: ended is not %v", state, ended)
		}
	}
}

func TestVerdict(t *testing.T) {
	began := &spooled.Began{Host: "n1", BootID: "b", At: time.Now()}
	for _, tt := range []struct {
		name   string
		ending Ending
		want   string
	}{
		{"canceled while it waited", Ending{Status: Status{State: "CANCELLED"}}, "canceled stopped 143"},
		{"canceled and killed", Ending{Status: Status{State: "CANCELLED"}, Began: began}, "canceled stopped 143"},
		{"killed after slurm cancel", Ending{Status: Status{State: "FAILED"}, Began: began, Canceled: true}, "canceled stopped 143"},
		{"forgotten after slurm cancel", Ending{Canceled: true, Logged: true}, "canceled stopped 143"},
		{"the node failed after slurm cancel", Ending{Status: Status{State: "NODE_FAIL"}, Began: began, Canceled: true}, "lost supervisor_lost 125"},
		{"the node failed before it began", Ending{Status: Status{State: "NODE_FAIL"}}, "lost supervisor_lost 125"},
		{"out of memory", Ending{Status: Status{State: "OUT_OF_MEMORY"}, Began: began}, "lost supervisor_lost 125"},
		{"time limit", Ending{Status: Status{State: "TIMEOUT"}, Began: began}, "lost supervisor_lost 125"},
		{"killed", Ending{Status: Status{State: "FAILED"}, Began: began}, "lost supervisor_lost 125"},
		{"no program there", Ending{Status: Status{State: "FAILED"}, Logged: true}, "error sandbox 125"},
		{"did not boot", Ending{Status: Status{State: "BOOT_FAIL"}}, "error sandbox 125"},
		{"forgotten, it had started", Ending{Began: began, Logged: true}, "lost supervisor_lost 125"},
		{"forgotten, its script had started", Ending{Logged: true}, "error sandbox 125"},
		{"forgotten, it had not started", Ending{}, "canceled stopped 143"},
	} {
		tt.ending.Log = "/spool/logs/0_0.out"
		run := tt.ending.Verdict(spooled.Line{ID: "a", Attempt: 2, Request: json.RawMessage(`{"command":["true"]}`)})
		if got := fmt.Sprintf("%s %s %d", run.State, run.Reason, run.ExitCode); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if run.ID != "a" || run.Attempt != 2 || run.Message == "" || !run.StartedAt.IsZero() || !strings.Contains(string(run.Request), `"timeout":"30m"`) {
			t.Errorf("%s: %+v", tt.name, run)
		}
	}
}

func TestEnvironment(t *testing.T) {
	got := environment([]string{"PATH=/bin", "SBATCH_MEM_PER_NODE=1", "SBATCH_WAIT=1", "SBATCH_ACCOUNT=a", "SQUEUE_STATES=PD", "SLURM_CONF=c", "SLURM_CLUSTERS=x", "SACCT_FORMAT=x"})
	if want := []string{"PATH=/bin", "SBATCH_ACCOUNT=a", "SLURM_CONF=c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSpoolIsDurable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	durable.Check(t, func() error {
		_, err := Create(dir, Submission{}, []spooled.Line{{Number: 1}, {Number: 2}})
		return err
	})
}
