package metrics

import (
	"bytes"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// ofProcess are metrics of this process, with the names of Prometheus' own libraries. The analyses are not in it.
func (m *Metrics) ofProcess() {
	m.gauge("go_goroutines", "Goroutines that exist.", func() float64 { return float64(runtime.NumGoroutine()) })
	m.add(gauge, "go_memstats_heap_alloc_bytes", "Bytes of heap objects.", level{read: func() (float64, bool) {
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return float64(s.HeapAlloc), true
	}})
	m.add(counter, "process_cpu_seconds_total", "User and system CPU time.", level{read: processCPU})
	m.add(gauge, "process_resident_memory_bytes", "Resident memory.", level{read: residentMemory})
	m.add(gauge, "process_open_fds", "Open file descriptors.", level{read: openDescriptors})
	m.add(gauge, "process_max_fds", "The limit on open file descriptors.", level{read: mostDescriptors})
	m.gauge("process_start_time_seconds", "When the worker started, since 1970.", func() float64 { return float64(m.began.UnixMilli()) / 1000 })
}

func processCPU() (seconds float64, ok bool) {
	var use unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &use)
	return float64(use.Utime.Nano()+use.Stime.Nano()) / 1e9, err == nil
}

// residentMemory is that of proc_pid_statm(5), which is in pages.
func residentMemory() (size float64, ok bool) {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	var total, resident int64
	_, err = fmt.Fscan(bytes.NewReader(raw), &total, &resident)
	return float64(resident * int64(os.Getpagesize())), err == nil
}

func openDescriptors() (n float64, ok bool) {
	entries, err := os.ReadDir("/proc/self/fd")
	return float64(len(entries) - 1), err == nil // without the directory's own
}

func mostDescriptors() (n float64, ok bool) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	return float64(limit.Cur), err == nil
}
