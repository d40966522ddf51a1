package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/spec"
)

// use is one limit of a run, and its usage by the run.
type use struct {
	Limit, Asked, Effective, By string
	Used, Share                 string // empty if not measured
	Width                       string // of the bar, of 100; empty if there is none
	Full                        bool   // the limit was reached
	Unheld                      bool   // not enforced
}

// newUses lists the limits in the order of the result.
func newUses(r result.Result) []use {
	var all []use
	for _, e := range r.Enforced {
		u := use{
			Limit: limitName(e.Limit), Asked: amount(e.Limit, e.Asked), Effective: amount(e.Limit, e.Effective),
			By: holder(e.By), Unheld: !e.Held(),
		}
		if used, text := spent(r, e.Limit); used > 0 {
			u.Used = text
			u.setShare(used, quantity(e.Limit, e.Effective))
		}
		all = append(all, u)
	}
	return all
}

func (u *use) setShare(used, limit float64) {
	if limit <= 0 {
		return
	}
	share := used / limit
	u.Share, u.Width, u.Full = percent(share), number(100*min(share, 1)), share >= 0.995
}

// number is a number of an SVG attribute.
func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 32) }

func limitName(limit string) string {
	switch limit {
	case "memory":
		return "memory"
	case "cpus":
		return "CPUs"
	case "pids":
		return "processes"
	case "work_size":
		return "size of /work"
	case "work_files":
		return "entries in /work"
	case "timeout":
		return "time"
	case "log_size":
		return "each log"
	case "tmp":
		return "/tmp, /dev/shm, each"
	}
	return limit
}

func holder(by string) string {
	switch by {
	case result.ByCgroup:
		return "the kernel: control group"
	case result.ByOuter:
		return "the kernel: a control group around it"
	case result.ByRlimit:
		return "the kernel: rlimit, for each process"
	case result.ByTmpfs:
		return "the kernel: size of the tmpfs"
	case result.ByWatchdog:
		return "scidex-oci, watching"
	case result.ByNone:
		return "nothing"
	}
	return by
}

// amount shows the value of a limit.
func amount(limit, value string) string {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && result.InBytes(limit) {
		return format.Size(n)
	}
	if d, err := time.ParseDuration(value); err == nil {
		return spec.Duration(d).String()
	}
	return value
}

// quantity is the value of a limit as a number, 0 if it is none.
func quantity(limit, value string) float64 {
	if limit == "timeout" {
		d, err := time.ParseDuration(value)
		if err != nil {
			return 0
		}
		return float64(d.Milliseconds())
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return 0
	}
	return n
}

// spent is the run's usage of a limited resource, 0 if unknown.
func spent(r result.Result, limit string) (used float64, text string) {
	u := r.Usage
	switch limit {
	case "memory":
		return float64(u.MemoryPeakBytes), format.Size(u.MemoryPeakBytes) + u.SampledMark("memory_peak_bytes")
	case "cpus":
		if u.WallMS == 0 {
			return 0, ""
		}
		cores := float64(u.CPUMS) / float64(u.WallMS)
		return cores, fmt.Sprintf("%.2f on average", cores)
	case "pids":
		return float64(u.PidsPeak), strconv.FormatInt(u.PidsPeak, 10) + u.SampledMark("pids_peak")
	case "work_size":
		return float64(u.WorkBytes), format.Size(u.WorkBytes)
	case "work_files":
		return float64(u.WorkFiles), strconv.FormatInt(u.WorkFiles, 10)
	case "timeout":
		return float64(u.WallMS), format.Duration(u.WallMS)
	case "log_size":
		most := max(r.Logs.Stdout.Bytes, r.Logs.Stderr.Bytes)
		return float64(most), format.Size(most)
	}
	return 0, ""
}

// evidence lists the counters that explain an end.
func evidence(r result.Result) []string {
	var all []string
	e := r.Evidence
	say := func(count int64, format string, args ...any) {
		if count > 0 {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	say(e.OOMKills, "The kernel killed for lack of memory: %s.", format.Count(e.OOMKills, "time", "times"))
	if e.OOMLimit != nil {
		all = append(all, oomLimit(*e.OOMLimit))
	}
	say(e.PidsDenied, "The kernel denied %s more than the limit.", format.Count(e.PidsDenied, "process", "processes"))
	say(e.ThrottledPeriods, "The CPU limit held it back in %d of %d periods of 100 ms, for %s in all.", e.ThrottledPeriods, e.Periods, format.Duration(e.ThrottledMS))
	say(e.WorkBytes+e.WorkFiles, "When /work passed its bound there were %s and %d entries in it.", format.Size(e.WorkBytes), e.WorkFiles)
	say(e.HostFloor, "The host's file system had %s free, and %s are to stay free.", format.Size(e.HostFree), format.Size(e.HostFloor))
	return all
}

func oomLimit(l result.OOMLimit) string {
	switch l.By {
	case result.OOMOwn:
		return "It was the run's own memory that ran out: " + format.Size(l.Bytes) + "."
	case result.OOMOuter:
		return "It was the memory of a control group around the run that ran out: " + format.Size(l.Bytes) + "."
	case result.OOMEither:
		return "It was the run's own memory that ran out, or that of a control group around it: the kernel does not say which."
	}
	return "Whose memory ran out is not known: the host's, or that of a group that cannot be seen."
}

// fact is a labelled value.
type fact struct {
	Name, Value string
	Code        bool // a name, path, command or digest
}

type facts []fact

func (f *facts) add(name, value string) {
	if value != "" {
		*f = append(*f, fact{Name: name, Value: value})
	}
}

func (f *facts) code(name, value string) {
	if value != "" && value != spec.None {
		*f = append(*f, fact{name, value, true})
	}
}

// given dereferences a value, "" without one.
func given(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// request is what was requested.
func request(r result.Result) facts {
	var f facts
	a := analysisOf(r)
	if a.Script != "" {
		f.code("Script", format.ShellLine(append([]string{a.Script}, a.Args...)...))
	} else {
		f.code("Command", format.ShellLine(a.Command...))
	}
	for _, place := range []struct{ name, path string }{
		{"Data", a.Data}, {"Docs", a.Docs}, {"Project", a.Project}, {"Staged into /work", a.Stage}, {"Runtime", a.Runtime},
	} {
		f.code(place.name, place.path)
	}
	for _, input := range a.Inputs {
		f.code("Input", input)
	}
	if in := r.Stdin; in != nil {
		f.code("Standard input", fmt.Sprintf("%s, sha256:%s", format.Size(in.Bytes), in.SHA256))
	}
	f.code("Required outputs", strings.Join(a.Outputs, "  "))
	f.code("Environment", pairs(a.Env))
	f.code("Secrets, by name", strings.Join(a.Secrets, "  "))
	return f
}

// surroundings is the environment.
func surroundings(r result.Result) facts {
	var f facts
	s := r.Sandbox
	f.code("Root filesystem", s.Rootfs)
	f.code("Image", given(s.RootfsReference))
	f.code("Digest of the root", given(s.RootfsDigest))
	f.code("Digest of its packages", given(s.PackagesDigest))
	f.add("Network", s.Network)
	f.add("System calls", s.Seccomp)
	if s.Landlock > 0 {
		f.add("Landlock", fmt.Sprintf("version %d", s.Landlock))
	}
	if s.Rootfs != "" {
		f.add("Ids", fmt.Sprintf("%d on the host (%s)", s.UIDOnHost, s.IDs))
	}
	f.add("Host", r.Host)
	f.add("Tool", "scidex-oci "+r.ToolVersion)
	return f
}
