package row

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// The reasons of a run that a limit has ended.
const (
	outOfMemory = "out_of_memory"
	timedOut    = "timeout"
)

// UsageReader reads what a catalog has of the usage of runs, each in one text with blanks between: wall_ms, cpu_ms and
// memory_peak_bytes of the report, memory and cpus of the request, then the hexadecimal digits of its timeout and of the
// reason, and last of the label, after a "=", or nothing. What is no number, as other programs may have written it, is not
// known. It keeps the texts that it has read, of which few are many runs'.
type UsageReader map[string]string

// Usage reads the text of one run.
func (r UsageReader) Usage(packed string) catalog.Usage {
	var fields [8]string
	for i := range fields {
		fields[i], packed, _ = strings.Cut(packed, " ")
	}
	reason := r.decode(fields[6])
	u := catalog.Usage{
		WallMS: whole(fields[0]), CPUMS: whole(fields[1]), MemoryPeak: whole(fields[2]),
		Memory: whole(fields[3]), CPUs: number(fields[4]), TimeoutMS: milliseconds(r.decode(fields[5])),
		OutOfMemory: reason == outOfMemory, TimedOut: reason == timedOut,
	}
	if digits, ok := strings.CutPrefix(fields[7], "="); ok {
		u.Label, u.Labelled = r.decode(digits), true
	}
	return u
}

func (r UsageReader) decode(digits string) string {
	text, ok := r[digits]
	if !ok {
		bytes, _ := hex.DecodeString(digits) // the database wrote them
		text = string(bytes)
		r[strings.Clone(digits)] = text
	}
	return text
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
