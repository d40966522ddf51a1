package hints

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/spec"
)

var (
	memoryError = pattern(`(?m)(^(?:\S+\.)?_?(?:Array)?MemoryError\b|std::bad_alloc|[Cc]annot allocate (?:vector|memory)|OutOfMemoryError|insufficient memory for the Java Runtime|Could not reserve enough space for|JavaScript heap out of memory|^Out of memory(?:!| in perl)|DefaultCPUAllocator: can't allocate memory)`)
	allocation  = pattern(`(?:Unable to allocate|cannot allocate vector of size) (\d+\.?\d* [KMGTPE](?:iB|b))`)
	largeFile   = pattern(`(File too large|File size limit exceeded)`)
	threadError = pattern(`(can't start new thread|[Rr]esource temporarily unavailable|fork: retry|unable to create (?:new )?(?:native )?thread)`)
)

// raised is what raises a limit: flags, but in a line of a batch its fields, which win over the flags.
func (f Facts) raised(flags ...string) string {
	said := strings.Join(flags, " or ")
	if !f.Caller.Line {
		return said
	}
	var fields []string
	for _, flag := range flags {
		name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), " ")
		fields = append(fields, strconv.Quote(strings.ReplaceAll(name, "-", "_")))
	}
	return fmt.Sprintf("%s in its line of the batch, or with %s if the line does not set it", strings.Join(fields, " or "), said)
}

func memoryLimit(f Facts) string {
	memory := format.Size(int64(f.Ended.Analysis.Memory))
	asked := f.askedMemory()
	switch {
	case f.Host.Memory > 0 && asked > f.Host.Memory:
		return fmt.Sprintf("the analysis asked for %s at once, and this host has %s: compute in parts", format.Size(asked), format.Size(f.Host.Memory))
	case f.Outcome.Reason == outcome.ReasonOutOfMemory:
		return fmt.Sprintf("the run may use %s of memory: give it more with %s", memory, f.raised("--memory SIZE"))
	case f.find(memoryError) == "":
		return ""
	case f.bestEffort():
		return fmt.Sprintf("under best effort each process may use %s of memory: give it more with %s", memory, f.raised("--memory SIZE"))
	}
	return fmt.Sprintf("the analysis got no more memory; the run may use %s: give it more with %s", memory, f.raised("--memory SIZE"))
}

// askedMemory is the size in bytes that numpy or R could not allocate; 0 if none is named.
func (f Facts) askedMemory() int64 {
	text := strings.NewReplacer("iB", "", "b", "").Replace(f.find(allocation))
	number, unit, _ := strings.Cut(text, " ")
	value, err := strconv.ParseFloat(number, 64)
	power := strings.Index("KMGTPE", unit)
	if err != nil || unit == "" || power < 0 {
		return 0
	}
	return int64(min(value*math.Pow(1024, float64(power+1)), math.MaxInt64/2))
}

func pidsLimit(f Facts) string {
	switch {
	case f.outOfTimeByPids():
		return fmt.Sprintf("the run may have %d processes and threads, and could not start more: it may have waited for them until its time was over; allow more with %s", f.Ended.PidsLimit, f.raised("--pids N"))
	case f.Outcome.Reason == outcome.ReasonPidsLimit:
	case f.seen(threadError) == "":
		return ""
	case f.bestEffort():
		return fmt.Sprintf("under best effort the limit of %d counts all processes and threads of one user id: allow more with %s", f.Ended.PidsLimit, f.raised("--pids N"))
	}
	return fmt.Sprintf("the run may have %d processes and threads: allow more with %s", f.Ended.PidsLimit, f.raised("--pids N"))
}

// outOfTimeByPids reports whether a run that timed out had lacked processes: pools wait for workers that never start.
func (f Facts) outOfTimeByPids() bool {
	return f.Outcome.Reason == outcome.ReasonTimeout && (f.Ended.Report.Evidence.PidsDenied > 0 || f.seen(threadError) != "")
}

func timeLimit(f Facts) string {
	if f.Outcome.Reason != outcome.ReasonTimeout || f.outOfTimeByPids() {
		return ""
	}
	return fmt.Sprintf("the run may take %v: give it more time with %s", time.Duration(f.Ended.Analysis.Timeout), f.raised("--timeout DURATION"))
}

func workLimit(f Facts) string {
	a, full := f.Ended.Analysis, f.Ended.Report.Evidence
	switch {
	case f.fileTooLarge():
		return fmt.Sprintf("one file may hold %s, also in /tmp: allow more with %s", format.Size(int64(a.WorkSize)), f.raised("--work-size SIZE"))
	case f.Outcome.Reason != outcome.ReasonWorkFull:
		return ""
	case full.WorkBytes > int64(a.WorkSize):
		return fmt.Sprintf("/work may hold %s: give it more with %s", format.Size(int64(a.WorkSize)), f.raised("--work-size SIZE"))
	case full.WorkFiles > a.WorkFiles:
		return fmt.Sprintf("/work may hold %d names: give it more with %s", a.WorkFiles, f.raised("--work-files N"))
	}
	return fmt.Sprintf("/work may hold %s and %d names: give it more with %s", format.Size(int64(a.WorkSize)), a.WorkFiles, f.raised("--work-size SIZE", "--work-files N"))
}

// fileTooLarge reports whether the limit of one file, which a /work in memory does not have, stopped the analysis.
func (f Facts) fileTooLarge() bool {
	return f.Ended.Analysis.WorkStorage != spec.WorkTmpfs && f.exited() && (f.endedBy() == unix.SIGXFSZ || f.find(largeFile) != "")
}

func hostFull(f Facts) string {
	if f.Outcome.Reason != outcome.ReasonHostFull {
		return ""
	}
	return `the host has too little free space: make room, for instance with "scidex-oci gc"`
}

func logTruncated(f Facts) string {
	for _, log := range []struct {
		name string
		result.Log
	}{{"standard output", f.Logs.Stdout}, {"standard error", f.Logs.Stderr}} {
		if kept := int64(f.Ended.Analysis.LogSize); log.Truncated && log.Bytes > kept {
			return fmt.Sprintf("of %s the first %s of %s are kept: keep more with %s", log.name, format.Size(kept), format.Size(log.Bytes), f.raised("--log-size SIZE"))
		}
	}
	return ""
}

func aboveHost(f Facts) string {
	a := f.Ended.Analysis
	switch {
	case f.Host.Memory > 0 && int64(a.Memory) > f.Host.Memory:
		return fmt.Sprintf("--memory %s is above the %s that this host has", format.Size(int64(a.Memory)), format.Size(f.Host.Memory))
	case f.Host.CPUs > 0 && a.CPUs > f.Host.CPUs:
		return fmt.Sprintf("--cpus %g is above the %g that this host has", a.CPUs, f.Host.CPUs)
	}
	return ""
}
