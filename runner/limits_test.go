package runner

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/spec"
)

func TestEnforced(t *testing.T) {
	a := spec.Analysis{CPUs: 0.5}.WithDefaults()
	by := func(list []result.Enforcement) string {
		var words []string
		for _, e := range list[:3] {
			words = append(words, e.Limit+"="+e.Effective+" "+e.By)
		}
		return strings.Join(words, ", ")
	}
	for want, got := range map[string]*cgroup.Effective{
		"memory=2147483648 cgroup, cpus=0.5 cgroup, pids=100 cgroup": {Memory: 2 << 30, CPUs: 0.5, Pids: 100},
		"memory=2147483648 cgroup, cpus= none, pids=100 cgroup":      {Memory: 2 << 30, Pids: 100},
		"memory=2147483648 rlimit, cpus= none, pids=100 rlimit":      nil,
	} {
		if list := enforced(a, got); by(list) != want {
			t.Errorf("got %s, want %s", by(list), want)
		}
	}
	if warnings := limitWarnings(enforced(a, nil)); len(warnings) != 2 {
		t.Errorf("best effort warns with %q", warnings)
	}
}

func TestWorkEnforced(t *testing.T) {
	a := spec.Analysis{WorkSize: 2<<20 + 1, WorkFiles: 5}.WithDefaults()
	for storage, want := range map[string][]result.Enforcement{
		spec.WorkDisk:  {{Limit: "work_size", Asked: "2097153", Effective: "2097153", By: "watchdog"}, {Limit: "work_files", Asked: "5", Effective: "5", By: "watchdog"}},
		spec.WorkTmpfs: {{Limit: "work_size", Asked: "2097153", Effective: "2101248", By: "tmpfs"}, {Limit: "work_files", Asked: "5", Effective: "5", By: "tmpfs"}},
	} {
		a.WorkStorage = storage
		if got := workEnforced(a); !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", storage, got, want)
		}
	}
}

// brokenPipe is the user's end of a pipe that nobody reads any more.
type brokenPipe struct{ writes int }

func (p *brokenPipe) Write([]byte) (int, error) { p.writes++; return 0, errors.New("broken pipe") }

func TestDrainKeepsTheBeginning(t *testing.T) {
	store, err := blob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ingest, err := store.NewIngest("x")
	if err != nil {
		t.Fatal(err)
	}
	defer ingest.Close()
	input := bytes.Repeat([]byte("0123456789"), 100_000)
	sink, gone := &logSink{ingest: ingest, limit: 25}, &brokenPipe{}
	if err := drain(bytes.NewReader(input), sink, gone, nil); err != nil {
		t.Fatal(err)
	}
	if gone.writes != 1 {
		t.Errorf("a closed end was written to %d times", gone.writes)
	}
	log, err := sink.publish()
	if err != nil || log.Bytes != 1_000_000 || !log.Truncated {
		t.Fatalf("got %+v (%v)", log, err)
	}
	kept, err := store.Open(t.Context(), log.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(kept); err != nil || text.String() != "0123456789012345678901234" {
		t.Errorf("kept %q (%v)", text.String(), err)
	}
}

func TestSilentStreamKeepsNothing(t *testing.T) {
	sink := &logSink{limit: 10} // it would panic on a file: there is no ingest directory
	if err := drain(strings.NewReader(""), sink, nil, nil); err != nil {
		t.Fatal(err)
	}
	if log, err := sink.publish(); err != nil || log != (result.Log{}) {
		t.Errorf("got %+v (%v)", log, err)
	}
}
