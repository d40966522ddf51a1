package cgroupfs

import (
	"fmt"
	"strconv"
	"strings"
)

// QuotaV1 is the CPU quota of a version 1 group in cores, 0 if none.
func QuotaV1(dir string) (float64, error) {
	us, err := Int(dir, "cpu.cfs_quota_us")
	if err != nil {
		return 0, err
	}
	period, err := Int(dir, "cpu.cfs_period_us")
	if err != nil || us <= 0 || period <= 0 { // -1: no quota
		return 0, err
	}
	return float64(us) / float64(period), nil
}

// QuotaV2 is the CPU quota of a version 2 group in cores, 0 if none.
func QuotaV2(dir string) (float64, error) {
	text, err := Read(dir, "cpu.max")
	if err != nil {
		return 0, err
	}
	return parseCPUMax(text)
}

// parseCPUMax reads "QUOTA PERIOD" in microseconds; "max" means no quota and gives 0.
func parseCPUMax(text string) (float64, error) {
	q, p, _ := strings.Cut(text, " ")
	if q == "max" {
		return 0, nil
	}
	us, err := strconv.ParseFloat(q, 64)
	if err != nil {
		return 0, fmt.Errorf("cpu.max %q: %w", text, err)
	}
	period, err := strconv.ParseFloat(p, 64)
	if err != nil || period == 0 {
		return 0, fmt.Errorf("cpu.max %q has no period", text)
	}
	return us / period, nil
}
