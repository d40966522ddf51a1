package e2e

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// faultStride is the distance between two points that are disturbed: 1 if SCIDEX_OCI_SOAK is set.
func faultStride(short int) int {
	if os.Getenv("SCIDEX_OCI_SOAK") != "" {
		return 1
	}
	return short
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

// newFaultyHouse is a harness with a run whose output the next ones have as well.
func newFaultyHouse(t *testing.T) *harness {
	t.Helper()
	mayListen(t)
	h := newHarness(t)
	h.start("--id", h.id("earlier"), "--", "sh", "-c", `printf 'earlier\n' >first`).expect(t, "complete", "exit", 0)
	return h
}

// disturbRun runs theFaulty with a fault.
func (h *harness) disturbRun(f fault) *observed {
	h.t.Helper()
	id := h.newID()
	return h.disturb(f, id, runWith(id, flags("--audit", "off", "--", "sh", "-c", theFaulty))...)
}

// TestFaultPoints runs undisturbed, finds every step of the commit among the points, in order, and then kills right
// before and right after each of them, and fails it.
func TestFaultPoints(t *testing.T) {
	h := newFaultyHouse(t)
	o := h.disturbRun(fault{kind: undisturbed})
	for i, point := range o.points {
		t.Logf("%3d %s", i+1, point)
	}
	if !o.ended || !o.proven {
		t.Errorf("the end of the analysis: done %v, recorded %v", o.ended, o.proven)
	}
	o.expectAftermath(h)
	steps := o.find(t, commitSteps)
	for what, change := range map[string]func(*fault){
		"killed-before": func(*fault) {},
		"killed-after":  func(f *fault) { f.after = true },
		"fails-once":    func(f *fault) { f.kind = failsOnce },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := newFaultyHouse(t)
			for _, f := range steps {
				change(&f)
				if !h.disturbOne(f) {
					t.Errorf("%s: there was no such point", f)
				}
			}
		})
	}
}

// TestFaultsOfTheRootInRun lets the file system of state file, catalog and outcomes fail under a run: at the first
// write of the exit record, and at points from the beginning to the end. What the analysis wrote is in the working
// directory, which gc keeps.
func TestFaultsOfTheRootInRun(t *testing.T) {
	for i, kind := range []faultKind{rootFails, rootReadOnly} {
		t.Run(strings.ReplaceAll(string(kind), " ", "-"), func(t *testing.T) {
			t.Parallel()
			h := newFaultyHouse(t)
			noted := fault{kind: kind, nth: 1, at: regexp.MustCompile(`^launcher openat runs/ID@1\.aftermath$`)}
			if !h.disturbOne(noted) {
				t.Errorf("%s: there was no such point", noted)
			}
			stride := faultStride(120 - 60*i) // less is written than read
			for nth := 1 + i*7%stride; h.disturbOne(fault{kind: kind, nth: nth}); {
				nth += stride
			}
		})
	}
}

// find returns the steps as faults that kill there.
func (o *observed) find(t *testing.T, steps []string) []fault {
	t.Helper()
	var all []fault
	from := 0
	for _, step := range steps {
		at := regexp.MustCompile(step)
		i := slices.IndexFunc(o.points[from:], at.MatchString)
		if i < 0 {
			t.Errorf("no point %s after point %d", step, from)
			from = 0
			i = slices.IndexFunc(o.points, at.MatchString)
		}
		if i < 0 {
			continue
		}
		from += i + 1
		nth := 0
		for _, point := range o.points[:from] {
			if at.MatchString(point) {
				nth++
			}
		}
		all = append(all, fault{kind: isKilled, at: at, nth: nth})
	}
	return all
}

// TestFaultsInRun disturbs the points of a run, by each kind of fault, until there is no further one.
func TestFaultsInRun(t *testing.T) {
	everyFault(t, faultStride(60), func(h *harness, f fault) bool { return h.disturbOne(f) })
}

// everyFault calls do for each kind of fault, in a harness of its own, at every stride-th point, until it reports that
// there was no such point.
func everyFault(t *testing.T, stride int, do func(*harness, fault) bool) {
	t.Helper()
	for i, kind := range []faultKind{failsOnce, failsOn, diskFull, isKilled} {
		t.Run(strings.ReplaceAll(string(kind), " ", "-"), func(t *testing.T) {
			t.Parallel()
			h := newFaultyHouse(t)
			nth := 1 + i*7%stride
			for do(h, fault{kind: kind, nth: nth}) {
				nth += stride
			}
			t.Logf("disturbed up to point %d", nth-stride)
			if nth <= stride {
				t.Errorf("there was no point %d", nth)
			}
		})
	}
}

// disturbOne runs with one fault in a subtest and checks what is left. It reports whether the fault was injected.
func (h *harness) disturbOne(f fault) (struck bool) {
	h.t.Helper()
	h.t.Run(f.name(), func(t *testing.T) {
		in := h.in(t)
		o := in.disturbRun(f)
		struck = o.hit != ""
		o.expectAftermath(in)
		o.tell(t)
	})
	return struck
}

// tell logs what was done, and, if the test failed, the output of the command.
func (o *observed) tell(t *testing.T) {
	t.Helper()
	t.Logf("%s: %s; analysis ended: %v, recorded: %v", o.fault, o.hit, o.ended, o.proven)
	if t.Failed() {
		t.Logf("the command said %d: %.400s\n%s", o.out.code, o.out.stdout, o.out.stderr)
	}
}

// TestFaultsInGC disturbs gc when it ends a run whose launcher was killed between the blobs and the transaction.
func TestFaultsInGC(t *testing.T) {
	everyFault(t, faultStride(90), func(h *harness, f fault) (struck bool) {
		h.t.Run(f.name(), func(t *testing.T) {
			in := h.in(t)
			o := in.disturbRun(fault{kind: isKilled, nth: 1, at: regexp.MustCompile(`^launcher fsync blobs/sha256$`)})
			if !o.proven || o.hit == "" {
				t.Fatalf("the run was not killed where it should: %q", o.points)
			}
			gc := in.disturb(f, o.id, "gc", "--json")
			struck = gc.hit != ""
			r, _ := in.row(o.id)
			in.expectPreserved(o.id, r)
			if gc.out.code == 0 && r.State == "running" {
				t.Errorf("gc said nothing and left the run open: %s", gc.out.stdout)
			}
			o.expectCollected(in)
			in.expectRetry(o.id)
			in.age() // else each gc has more blobs to look at than the one before
			in.gc()
			gc.tell(t)
		})
		return struck
	})
}

// TestFaultsInRemoval disturbs rm of a run whose directory was kept.
func TestFaultsInRemoval(t *testing.T) {
	everyFault(t, faultStride(90), func(h *harness, f fault) (struck bool) {
		h.t.Run(f.name(), func(t *testing.T) {
			in := h.in(t)
			id := in.newID()
			in.start("--id", id, "--keep", "always", "--", "sh", "-c", theFaulty).expectWhole(t)
			rm := in.disturb(f, id, "rm", id)
			struck = rm.hit != ""
			in.gc()
			r, found := in.row(id)
			if found {
				r.expectWhole(t)
				in.mustRun("rm", id)
			}
			if found && rm.out.code == 0 {
				t.Error("rm said nothing and left the run")
			}
			in.gc()
			if left := leftovers(id, in.root); len(left) > 0 {
				t.Errorf("after rm: %q", left)
			}
			in.expectSound()
			rm.tell(t)
		})
		return struck
	})
}
