package row

import (
	"strconv"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// The reasons of a run that a limit has ended.
const (
	outOfMemory = "out_of_memory"
	timedOut    = "timeout"
)

// UsageTexts is what a catalog has of the usage of a run, as text; empty where it has nothing.
type UsageTexts struct {
	WallMS, CPUMS, MemoryPeak string // of the report
	Memory, CPUs, Timeout     string // of the request
	Reason                    string
}

// Usage reads texts. What is no number, as other programs may have written it, is not known.
func (t UsageTexts) Usage() catalog.Usage {
	return catalog.Usage{
		WallMS: whole(t.WallMS), CPUMS: whole(t.CPUMS), MemoryPeak: whole(t.MemoryPeak),
		Memory: whole(t.Memory), CPUs: number(t.CPUs), TimeoutMS: milliseconds(t.Timeout),
		OutOfMemory: t.Reason == outOfMemory, TimedOut: t.Reason == timedOut,
	}
}

func whole(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func number(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return x
}

// milliseconds reads a time as a request has it: "1h30m", or a number of seconds.
func milliseconds(text string) int64 {
	if d, err := time.ParseDuration(text); err == nil {
		return d.Milliseconds()
	}
	return int64(number(text) * 1000)
}
