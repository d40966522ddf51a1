package metrics

import "github.com/prometheus/client_golang/prometheus"

// level describes a gauge that is read at each scrape.
func level(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// levels reads gauges at each scrape. One whose value is unknown is left out.
type levels func(write writeLevel)

type writeLevel func(of *prometheus.Desc, value float64, labels ...string)

// Describe says nothing, since what is unknown is missing.
func (levels) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (l levels) Collect(to chan<- prometheus.Metric) {
	l(func(of *prometheus.Desc, value float64, labels ...string) {
		m, err := prometheus.NewConstMetric(of, prometheus.GaugeValue, value, labels...)
		if err != nil { // a class that is not UTF-8
			m = prometheus.NewInvalidMetric(of, err)
		}
		to <- m
	})
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

var (
	draining      = level("scidex_oci_worker_draining", "Whether the worker takes no more jobs.")
	capacityJobs  = level("scidex_oci_worker_capacity_jobs", "How many analyses the worker takes at once.")
	runningJobs   = level("scidex_oci_worker_running_jobs", "How many analyses the worker has in hand, from their turn to their end.")
	classRunning  = level("scidex_oci_worker_class_running_jobs", "How many analyses of each of its classes the worker has in hand.", "class")
	wholeMemory   = level("scidex_oci_worker_capacity_memory_bytes", "What all analyses together may be granted.")
	grantedMemory = level("scidex_oci_worker_granted_memory_bytes", "The memory limits of the analyses that run or are prepared, together.")
	wholeCPUs     = level("scidex_oci_worker_capacity_cpus", "The cores that all analyses together may be granted.")
	grantedCPUs   = level("scidex_oci_worker_granted_cpus", "The CPU limits of the analyses that run or are prepared, together.")
	waiting       = level("scidex_oci_worker_results_waiting", "How many results wait below the worker's root to be committed.")
)

// worked are the gauges of the worker itself.
func worked(s Source) levels {
	return func(write writeLevel) {
		load := s.Load()
		write(draining, truth(s.Draining()))
		write(capacityJobs, float64(s.Jobs))
		write(runningJobs, float64(load.Running))
		for _, class := range s.Classes {
			write(classRunning, float64(load.Classes[class]), class)
		}
		if whole := s.Capacity.Memory; whole > 0 {
			write(wholeMemory, float64(whole))
			write(grantedMemory, float64(whole-load.Free.Memory))
		}
		if whole := s.Capacity.CPUs; whole > 0 {
			write(wholeCPUs, whole)
			write(grantedCPUs, max(0, whole-load.Free.CPUs))
		}
		if n, err := s.Waiting(); err == nil {
			write(waiting, float64(n))
		}
	}
}
