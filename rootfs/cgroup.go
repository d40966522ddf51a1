package rootfs

import "fmt"

// cgroupDir is where other systems mount the kernel's control groups. In a run nothing is mounted there.
const cgroupDir = "/sys/fs/cgroup"

// cpuPeriod is the period of a processor quota, in microseconds; the kernel's default.
const cpuPeriod = 100_000

// WithLimits adds files with the limits of a run, in the places where programs look for those of their container: dask,
// joblib, DuckDB, Node.js, XGBoost, Rust. They have the names of both versions of control groups, so that the host's
// does not matter, and no figures of usage, which only the kernel knows. The JVM, .NET and Go need a mounted cgroupfs,
// which would show the host's groups.
func WithLimits(tree Tree, memory int64, cpus float64) Tree {
	quota := max(1, int64(cpus*cpuPeriod))
	for _, f := range []struct{ name, text string }{
		{"cgroup.controllers", "cpu memory"}, // Rust looks for it before the others
		{"cpu.max", fmt.Sprint(quota, " ", cpuPeriod)},
		{"memory.max", fmt.Sprint(memory)},
		{"memory.high", "max"}, // Node.js reads nothing if it is missing
		{"cpu,cpuacct/cpu.cfs_quota_us", fmt.Sprint(quota)},
		{"cpu,cpuacct/cpu.cfs_period_us", fmt.Sprint(cpuPeriod)},
		{"memory/memory.limit_in_bytes", fmt.Sprint(memory)},
		{"memory/memory.soft_limit_in_bytes", "9223372036854771712"}, // none
	} {
		tree.Run = append(tree.Run, File{Path: cgroupDir + "/" + f.name, Data: []byte(f.text + "\n"), Mode: fileMode})
	}
	tree.Links = append(tree.Links, Link{cgroupDir + "/cpu", "cpu,cpuacct"})
	return tree
}
