package admission

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/outer"
	"github.com/scidex-ai/scidex-oci/runner/host/headroom"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/host/procfs"
	"github.com/scidex-ai/scidex-oci/runner/warm"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Resources are the limits of runs, or what a host or the control groups around this process have for them. 0 is unknown, or no
// bound.
type Resources struct {
	Memory int64   // bytes
	CPUs   float64 // cores
}

// LimitsOf are the limits of an analysis: what it requests, otherwise the defaults.
func LimitsOf(a spec.Analysis) Resources {
	a = a.WithDefaults()
	return Resources{Memory: int64(a.Memory), CPUs: a.CPUs}
}

// ReadFree reads what this process can use: the memory that is free for new programs (MemAvailable, proc_meminfo(5)) and
// the CPUs that it may use, or the less that its control groups leave.
func ReadFree() Resources { return usable("MemAvailable:") }

// ReadTotal is ReadFree with all memory, also what others use now.
func ReadTotal() Resources { return usable("MemTotal:") }

// ReadMachine is what the machine has for the programs of all users, whatever the limits of this process are.
func ReadMachine() Resources {
	return Resources{Memory: memoryOf("/proc/meminfo", "MemAvailable:"), CPUs: float64(procfs.OnlineCPUs("/proc"))}
}

func usable(memory string) Resources {
	r := Resources{Memory: memoryOf("/proc/meminfo", memory), CPUs: float64(runtime.NumCPU())}
	held := outer.Find(os.Getpid()).Held()
	return r.Within(Resources{Memory: held.Memory, CPUs: held.CPUs})
}

// Within is r, or the less that bounds leave.
func (r Resources) Within(bounds Resources) Resources {
	if bounds.Memory > 0 && (r.Memory == 0 || bounds.Memory < r.Memory) {
		r.Memory = bounds.Memory
	}
	if bounds.CPUs > 0 && (r.CPUs == 0 || bounds.CPUs < r.CPUs) {
		r.CPUs = bounds.CPUs
	}
	return r
}

// slack is the rounding error in sums and quotients of fractions (0.1).
const slack = 1e-9

// Holds reports whether limits are within r.
func (r Resources) Holds(limits Resources) bool {
	return (r.Memory == 0 || limits.Memory <= r.Memory) && (r.CPUs == 0 || !(limits.CPUs > r.CPUs+slack))
}

// Runs is how many runs with these limits r holds at once, at least 1.
func (r Resources) Runs(each Resources) int {
	most := int64(0)
	if r.Memory > 0 && each.Memory > 0 {
		most = max(1, r.Memory/each.Memory)
	}
	if r.CPUs > 0 && each.CPUs > 0 {
		byCPU := max(1, int64(r.CPUs/each.CPUs+slack))
		if most == 0 || byCPU < most {
			most = byCPU
		}
	}
	return int(max(1, most))
}

// Idle is how many runs with these limits r holds besides so many jobs.
func (r Resources) Idle(jobs int, each Resources) int { return max(0, r.Runs(each)-jobs) }

// atLeastNothing counts what is less than 0, or no number, as nothing.
func (r Resources) atLeastNothing() Resources {
	if !(r.CPUs > 0) {
		r.CPUs = 0
	}
	return Resources{max(r.Memory, 0), r.CPUs}
}

// Fit is how many jobs of a batch this process and its user have room for, at most the given number, and what there is no
// more of.
func Fit(jobs int, d headroom.Demand) (fits int, short string, err error) {
	account, err := idmap.ReadAccount()
	if err != nil {
		return 0, "", err
	}
	most, short := headroom.Read(warm.User(account), account.Pairs()).Fit(int64(jobs), d)
	return int(most), short, nil
}

// memoryOf is a field of meminfo in bytes, 0 if the kernel has none.
func memoryOf(meminfo, field string) int64 {
	f, err := os.Open(meminfo)
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && fields[0] == field {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}
