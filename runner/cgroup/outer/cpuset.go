package outer

import (
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
	"github.com/scidex-ai/scidex-oci/runner/host/procfs"
)

// cpuSet is the number of CPUs that the process may run on, 0 if all of the host's.
func (o *Groups) cpuSet() int64 {
	if len(o.cpuset.Dirs) == 0 {
		return 0
	}
	files := []string{"cpuset.effective_cpus", "cpuset.cpus"}
	if o.cpuset.Unified {
		files = []string{"cpuset.cpus.effective"}
	}
	for _, file := range files {
		text, err := cgroupfs.Read(o.cpuset.Dirs[0], file)
		if err != nil {
			continue
		}
		if n := countCPUs(text); n < procfs.OnlineCPUs(o.proc) {
			return n
		}
		return 0
	}
	return 0
}

// countCPUs counts a list of cpuset(7): "0-3,8".
func countCPUs(list string) int64 {
	var n int64
	for part := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		first, err := strconv.ParseInt(from, 10, 64)
		last, failed := strconv.ParseInt(to, 10, 64)
		if err != nil || failed != nil || last < first {
			return 0
		}
		n += last - first + 1
	}
	return n
}
