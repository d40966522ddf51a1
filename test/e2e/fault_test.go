package e2e

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// faultStride is how many points lie between two that are disturbed: one where SCIDEX_OCI_SOAK is set.
func faultStride() int {
	if os.Getenv("SCIDEX_OCI_SOAK") != "" {
		return 1
	}
	return 20
}

// commitSteps are what a run must do in this order for its commit to hold, as the names of points.
var commitSteps = []string{
	`^launcher fsync catalog\.db-wal$`,                   // the intent
	`^launcher mkdirat /tmp/scidex-analysis-ID$`,         // the working directory
	`^launcher mkdirat blobs/ingest/ID-RANDOM$`,          // the ingest directory
	`^launcher pwrite64 runs/ID@1\.json$`,                // its end is recorded
	`^supervisor linkat blobs/ingest/ID-RANDOM/0`,        // an ingest file
	`^launcher fsync blobs/ingest/ID-RANDOM/0`,           // the content of a blob
	`^launcher renameat blobs/sha256/DIGEST$`,            // a blob
	`^launcher fsync blobs/sha256$`,                      // the names of blobs
	`^launcher pwrite64 catalog\.db-wal$`,                // the transaction
	`^launcher fsync catalog\.db-wal$`,                   // the commit
	`^supervisor unlinkat /tmp/scidex-analysis-ID/work/`, // what is in the working directory
	`^launcher unlinkat /tmp/scidex-analysis-ID$`,        // the working directory
	`^launcher unlinkat blobs/ingest/ID-RANDOM$`,         // the ingest directory
	`^launcher unlinkat runs/ID@1\.json$`,                // the state file
	`^launcher fsync catalog\.db$`,                       // the log is folded into the catalog
}

// newFaultyHouse is a house with a run whose output the next ones have as well.
func newFaultyHouse(t *testing.T) *house {
	t.Helper()
	mayListen(t)
	h := newHouse(t)
	h.start("--id", h.id("earlier"), "--", "sh", "-c", `printf 'earlier\n' >first`).expect(t, "complete", "exit", 0)
	return h
}

// disturbRun runs theFaulty with a fault.
func (h *house) disturbRun(f fault) *observed {
	h.t.Helper()
	id := h.fresh()
	return h.disturb(f, id, runWith(id, flags("--audit", "off", "--", "sh", "-c", theFaulty))...)
}

// TestFaultPoints runs undisturbed, and finds every step of the commit among the points, in order.
func TestFaultPoints(t *testing.T) {
	h := newFaultyHouse(t)
	o := h.disturbRun(fault{kind: undisturbed})
	for i, point := range o.points {
		t.Logf("%3d %s", i+1, point)
	}
	if !o.ended || !o.proven {
		t.Errorf("the end of the analysis: done %v, recorded %v", o.ended, o.proven)
	}
	at := 0
	for _, step := range commitSteps {
		i := slices.IndexFunc(o.points[at:], regexp.MustCompile(step).MatchString)
		if i < 0 {
			t.Fatalf("no point %s after point %d", step, at)
		}
		at += i + 1
	}
	o.expectAftermath(h)
}

// TestFaultsInRun disturbs every point of a run, by each kind of fault, until there is no further one.
func TestFaultsInRun(t *testing.T) {
	for i, kind := range []faultKind{failsOnce, failsOn, diskFull, isKilled} {
		t.Run(strings.ReplaceAll(string(kind), " ", "-"), func(t *testing.T) {
			h := newFaultyHouse(t)
			n := 0
			for nth := 1 + i; ; nth += faultStride() {
				if !h.disturbOne(fault{kind: kind, nth: nth}) {
					break
				}
				n++
			}
			t.Logf("%d faults", n)
			if n < 3 {
				t.Errorf("only %d points were disturbed", n)
			}
		})
	}
}

// disturbOne runs with one fault in a subtest and checks what is left. It reports whether the fault came about.
func (h *house) disturbOne(f fault) (struck bool) {
	h.t.Helper()
	h.t.Run(fmt.Sprint(f.nth), func(t *testing.T) {
		in := h.in(t)
		o := in.disturbRun(f)
		struck = o.hit != ""
		t.Logf("%s: %s; analysis ended: %v, recorded: %v", f, o.hit, o.ended, o.proven)
		o.expectAftermath(in)
		if t.Failed() {
			t.Logf("the run said %d: %.300s\n%s", o.out.code, o.out.stdout, o.out.stderr)
		}
	})
	return struck
}
