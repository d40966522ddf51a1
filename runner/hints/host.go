package hints

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// ReadHost reads the memory and the processors of this machine.
func ReadHost() Host {
	h := Host{CPUs: float64(runtime.NumCPU())}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		h.Memory = int64(info.Totalram) * int64(info.Unit)
	}
	return h
}
