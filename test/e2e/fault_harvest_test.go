package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// theHarvested is an analysis that leaves every kind of entry that the harvest takes in its own way: files that it
// links, reads as a whole or in parts, and copies, one with a hole, one with two names, one that only its owner may
// read, directories, and two links, of which one is scidex-oci's own. Its last act is seen by the listener.
const theHarvested = `printf small >small; : >empty; mkdir -p a/b; echo "of $SCIDEX_ANALYSIS_ID" >a/b/new; echo two >name; ln name other
truncate -s 300000 hole; printf end >>hole; head -c 100000 /dev/zero | tr '\0' x >large; ln -s small link
umask 077; echo closed >closed; kill -0 5242880 2>/dev/null; exit 0`

// harvestable is what theHarvested writes, by path.
func harvestable(id string) map[string]string {
	return map[string]string{
		"small": "small", "empty": "", "a/b/new": "of " + id + "\n", "name": "two\n", "other": "two\n", "closed": "closed\n",
		"hole": strings.Repeat("\x00", 300000) + "end", "large": strings.Repeat("x", 100000),
	}
}

// greatestErrno is EHWPOISON: the kernel gives no greater one to a process.
const greatestErrno = 133

// TestFaultsInHarvest fails each system call on /work, the ingest directory and the blobs from the end of the analysis
// to its commit, with each errno that the kernel gives, spread over the files that the call is for: a run is complete
// with every output, or it is an error and its directory has all that was written. Only a file's own type and mode
// decide its verdict, and only the link is refused here. CI tries some of the calls, each with another errno.
func TestFaultsInHarvest(t *testing.T) {
	data := flags("--data", t.TempDir(), "--audit", "off")
	for name, args := range map[string][]string{"linked": data, "copied": append(data, "--keep", "always")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mayListen(t)
			h := newHarness(t)
			calm := h.disturbHarvest(fault{kind: undisturbed}, args)
			h.expectHarvest(calm)
			calm = h.disturbHarvest(fault{kind: undisturbed}, args) // most blobs are there already, as for those that follow
			h.expectHarvest(calm)
			faults := calm.harvestFaults()
			if len(faults) < 60 {
				t.Fatalf("only %d points: %q", len(faults), calm.points)
			}
			missed, done := 0, 0
			for i, f := range faults {
				for _, f.with = range f.errnos(i, faults) {
					o := h.disturbHarvest(f, args)
					done++
					if o.hit == "" {
						missed++
						t.Logf("there was no %s", f)
					}
					h.expectHarvest(o)
				}
			}
			t.Logf("%d of %d faults at %d points hit nothing", missed, done, len(faults))
			if missed > done/2 { // a busy machine may have measured /work once more in the undisturbed run
				t.Errorf("%d faults hit nothing", missed)
			}
		})
	}
}

// errnos are those for the i-th of all faults: in CI one, for each eighth; else all that are left by the others of its kind.
func (f fault) errnos(i int, all []fault) (errnos []unix.Errno) {
	if os.Getenv("SCIDEX_OCI_SOAK") == "" {
		// The first of these mean a missing file, or one without permission.
		some := []unix.Errno{unix.ENOENT, unix.EACCES, unix.ESTALE, unix.EAGAIN, unix.ENXIO, unix.EXDEV, unix.EPERM, unix.ENOTCONN, unix.EROFS}
		if i%8 == 0 {
			errnos = append(errnos, some[i%len(some)])
		}
		return errnos
	}
	place, kind := 0, 0
	for j, other := range all {
		if other.call() != f.call() {
			continue
		}
		if j < i {
			place++
		}
		kind++
	}
	for errno := unix.Errno(place + 1); errno <= greatestErrno; errno += unix.Errno(kind) {
		errnos = append(errnos, errno)
	}
	return errnos
}

// theFile is a file in the name of a point, below the directories that points have.
var theFile = regexp.MustCompile(`(/work|/ingest/ID-RANDOM|/sha256)/.*`)

// call is the process, the system call and the directory of a fault's point.
func (f fault) call() string { return theFile.ReplaceAllString(f.at.String(), "$1/") }

// disturbHarvest runs theHarvested with a fault.
func (h *harness) disturbHarvest(f fault, args []string) *observed {
	h.t.Helper()
	id := h.newID()
	return h.disturb(f, id, runWith(id, append(slices.Clone(args), "--", "sh", "-c", theHarvested))...)
}

// harvestFaults are the points of the harvest, as faults that begin there.
func (o *observed) harvestFaults() (all []fault) {
	seen := map[string]int{}
	for _, point := range o.points[o.before:] {
		if point == "launcher pwrite64 catalog.db-wal" {
			break // the commit
		}
		if !strings.HasPrefix(point, "supervisor ") && !strings.HasPrefix(point, "launcher ") || !strings.Contains(point, " blobs/") && !strings.Contains(point, "/work") {
			continue
		}
		seen[point]++
		all = append(all, fault{kind: failsWith, at: regexp.MustCompile("^" + regexp.QuoteMeta(point) + "$"), nth: seen[point], ended: true})
	}
	return all
}

// expectHarvest checks what became of the outputs of theHarvested, and removes the run.
func (h *harness) expectHarvest(o *observed) {
	h.t.Helper()
	r, found := h.row(o.id)
	what := fmt.Sprintf("%s (%v): %s, %s (%s)", o.hit, o.fault.with, r.State, r.Reason, r.Message)
	if !found || r.State == "running" {
		h.t.Errorf("%s\n%s%s", what, o.out.stdout, o.out.stderr)
		return
	}
	h.expectAll(r, what, "/tmp/scidex-analysis-"+o.id)
	h.mustRun("rm", o.id)
	if left := leftovers(o.id, h.root); len(left) > 0 {
		h.t.Errorf("%s: after rm: %q", what, left)
	}
}

// expectAll checks that a run is complete with every output of theHarvested, or an error with all of it in its directory.
func (h *harness) expectAll(r result, what, dir string) {
	h.t.Helper()
	for path, content := range harvestable(r.ID) {
		kept, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			kept, err = os.ReadFile(filepath.Join(dir, "work", path))
		}
		inDir := err == nil && string(kept) == content
		if r.State == "complete" && !r.holds(path, content) {
			h.t.Errorf("%s without the output %q: %+v", what, path, r.Rejected)
		}
		if r.State != "complete" && !inDir {
			h.t.Errorf("%s, and %q is not in its directory: %v", what, path, err)
		}
	}
	if r.State == "complete" && (r.RejectedTotal != 1 || r.OutputsTotal != int64(len(harvestable(r.ID)))) {
		h.t.Errorf("%s with %d outputs and %+v", what, r.OutputsTotal, r.Rejected)
	}
	if r.State != "complete" && (r.State != "error" || r.ExitCode != 125) {
		h.t.Errorf("%s with exit code %d", what, r.ExitCode)
	}
}

// failedHarvest runs until a file cannot be read.
func (h *harness) failedHarvest(id string) {
	h.t.Helper()
	at := regexp.MustCompile(`^supervisor openat2 /tmp/scidex-analysis-ID/work/same$`)
	o := h.disturb(fault{kind: failsWith, nth: 1, at: at, ended: true, with: unix.ESTALE}, id, runWith(id, flags("--audit", "off", "--", "sh", "-c", theFaulty))...)
	r := h.show(id)
	r.expect(h.t, "error", "harvest", 125)
	if o.hit == "" || !strings.Contains(r.Message, "same") || !strings.Contains(r.Message, "stale") {
		h.t.Errorf("%q: %s", o.hit, r.Message)
	}
	h.expectPreserved(id, r)
}

// TestFailedHarvestsAreBounded: directories of failed harvests stay, and no run starts while there are as many as the config
// file allows, or as large ones.
func TestFailedHarvestsAreBounded(t *testing.T) {
	mayListen(t)
	for key, bound := range map[string]struct {
		value string
		dirs  int
	}{"max_unharvested": {"2", 2}, "max_unharvested_size": {"1KiB", 1}} {
		t.Run(key, func(t *testing.T) {
			h := newHarness(t)
			h.setenv("SCIDEX_OCI_CONFIG", h.write("config.yaml", key+": "+bound.value+"\n", 0o644))
			ids := make([]string, bound.dirs)
			for i := range ids {
				ids[i] = h.newID()
				h.failedHarvest(ids[i])
			}
			h.mustRefuse(runWith(h.newID(), flags("--", "true")), fmt.Sprintf("%d working directories", bound.dirs), key, "rm ID")
			h.gc()
			for i, id := range ids {
				h.expectPreserved(id, h.show(id))
				h.mustRun("rm", id)
				if i == 0 {
					h.start("--id", h.newID(), "--", "true").expect(t, "complete", "exit", 0)
				}
			}
		})
	}
}

// TestRescueEnds: a harvest at which gc is killed again and again is given up, and the directory is kept.
func TestRescueEnds(t *testing.T) {
	h := newFaultyHouse(t)
	kill := fault{kind: isKilled, nth: 1, at: regexp.MustCompile(`^launcher fsync blobs/sha256$`)}
	o := h.disturbRun(kill)
	if !o.proven || o.hit == "" {
		t.Fatalf("the run was not killed where it should: %q", o.points)
	}
	for range 3 {
		if gc := h.disturb(kill, o.id, "gc"); gc.hit == "" {
			t.Fatalf("gc was not killed: %q", gc.points)
		}
	}
	h.gc()
	r := h.show(o.id)
	r.expect(t, "error", "harvest", 125)
	if !strings.Contains(r.Message, "3 times") || len(r.Outputs) > 0 {
		t.Errorf("%s, %+v", r.Message, r.Outputs)
	}
	h.expectPreserved(o.id, r)
	if again := h.gc(); len(again.Committed) > 0 {
		t.Errorf("a later gc has committed %v", again.Committed)
	}
	h.mustRun("rm", o.id)
}
