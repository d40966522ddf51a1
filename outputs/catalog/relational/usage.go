package relational

import (
	"context"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// The reasons of runs ended by a limit.
const (
	outOfMemory = "out_of_memory"
	timedOut    = "timeout"
)

// Usage calls yield for each run of a query, which has one text for it, separated by blanks: wall_ms, cpu_ms and
// memory_peak_bytes of the report, memory and cpus of the request, then the hexadecimal digits of its timeout and of the
// reason, and last of the label, after a "=", or nothing. Values that are no numbers, as other programs may write, are unknown.
func Usage(ctx context.Context, from Reader, yield func(catalog.Usage) bool, sql string, args ...any) error {
	texts := usageTexts{}
	return from.Query(ctx, func(row Row) (bool, error) {
		var packed string
		err := row.Scan(&packed)
		return err == nil && yield(texts.usage(packed)), err
	}, sql, args...)
}

// usageTexts caches decoded texts by their digits, since many runs share few.
type usageTexts map[string]string

func (r usageTexts) usage(packed string) catalog.Usage {
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

func (r usageTexts) decode(digits string) string {
	text, ok := r[digits]
	if !ok {
		bytes, _ := hex.DecodeString(digits) // written by the database
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

// milliseconds parses the time of a request: "1h30m", or a number of seconds.
func milliseconds(text string) int64 {
	if d, err := time.ParseDuration(text); err == nil {
		return d.Milliseconds()
	}
	return int64(number(text) * 1000)
}
