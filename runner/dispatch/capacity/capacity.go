package capacity

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/outer"
	"github.com/scidex-ai/scidex-oci/runner/host/room"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/idmap"
	"github.com/scidex-ai/scidex-oci/runner/standby"
)

// Capacity is what a machine, or the control groups around a process of it, have for runs. 0 is unknown.
type Capacity struct {
	Memory int64   // bytes
	CPUs   float64 // cores
}

// ReadCapacity reads what this process can use: the memory that is free for new programs (MemAvailable, proc_meminfo(5)) and
// the CPUs that it may use, or the less that its control groups leave.
func ReadCapacity() Capacity {
	return usable("MemAvailable:")
}

// ReadTotal is ReadCapacity with all memory, also what others use now.
func ReadTotal() Capacity { return usable("MemTotal:") }

// ReadMachine is what the machine has for the programs of all users, whatever the limits of this process are.
func ReadMachine() Capacity {
	return Capacity{Memory: memoryOf("/proc/meminfo", "MemAvailable:"), CPUs: processorsOf("/proc/stat")}
}

func usable(memory string) Capacity {
	c := Capacity{Memory: memoryOf("/proc/meminfo", memory), CPUs: float64(runtime.NumCPU())}
	held := outer.Find(os.Getpid()).Held()
	return c.Within(held.Memory, held.CPUs)
}

// Within is c, or the less that limits leave; a limit of 0 is none.
func (c Capacity) Within(memory int64, cpus float64) Capacity {
	if memory > 0 && (c.Memory == 0 || memory < c.Memory) {
		c.Memory = memory
	}
	if cpus > 0 && (c.CPUs == 0 || cpus < c.CPUs) {
		c.CPUs = cpus
	}
	return c
}

// Runs is how many runs with these limits have room in it at once, at least 1.
func (c Capacity) Runs(memory int64, cpus float64) int {
	most := int64(0)
	if c.Memory > 0 && memory > 0 {
		most = max(1, c.Memory/memory)
	}
	if c.CPUs > 0 && cpus > 0 {
		// A quotient of fractions such as 0.1 is inexact.
		byCPU := max(1, int64(c.CPUs/cpus+1e-9))
		if most == 0 || byCPU < most {
			most = byCPU
		}
	}
	return int(max(1, most))
}

// Idle is how many runs with these limits it has room for besides so many jobs.
func (c Capacity) Idle(jobs int, memory int64, cpus float64) int {
	return max(0, c.Runs(memory, cpus)-jobs)
}

// Fit is how many jobs of a batch this process and its user have room for, at most the given number, and what there is no
// more of.
func Fit(jobs int, d room.Demand) (fits int, short string, err error) {
	account, err := idmap.ReadAccount()
	if err != nil {
		return 0, "", err
	}
	most, short := room.Read(standby.User(account), account.Pairs()).Fit(int64(jobs), d)
	return int(most), short, nil
}

// memoryOf is a field of meminfo in bytes, 0 where the kernel has none.
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

// processorsOf is how many processors are online by proc_stat(5), 0 where that does not say.
func processorsOf(stat string) (n float64) {
	text, err := os.ReadFile(stat)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if name, _, _ := strings.Cut(line, " "); name != "cpu" && strings.HasPrefix(name, "cpu") {
			n++
		}
	}
	return n
}
