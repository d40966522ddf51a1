package metrics

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The text format of Prometheus, version 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats), written by hand, since
// linking its library would delay the start of every command by 2 ms.

// contentType is that of the format.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// kind is the type of a family.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// family is all metrics of one name, which differ by their labels.
type family struct {
	name    string
	kind    kind
	help    string // one sentence, without backslash or newline
	metrics []metric
}

// metric writes its lines.
type metric interface {
	write(to *bytes.Buffer, name string)
}

// write omits a family without values.
func (f family) write(to *bytes.Buffer) {
	var values bytes.Buffer
	for _, m := range f.metrics {
		m.write(&values, f.name)
	}
	if values.Len() > 0 {
		fmt.Fprintf(to, "# HELP %s %s\n# TYPE %s %s\n%s", f.name, f.help, f.name, f.kind, values.Bytes())
	}
}

// labels are pairs as they stand between braces.
type labels string

// labeled makes them of names and values in turn.
func labeled(pairs ...string) labels {
	var all []string
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, pairs[i]+`="`+escaped.Replace(pairs[i+1])+`"`)
	}
	return labels(strings.Join(all, ","))
}

// line writes one value.
func line(to *bytes.Buffer, name string, l labels, value float64) {
	if l != "" {
		name += "{" + string(l) + "}"
	}
	fmt.Fprintf(to, "%s %s\n", name, number(value))
}

func number(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }

// count is a counter.
type count struct {
	labels labels
	n      atomic.Int64
}

func (c *count) add(n int64) { c.n.Add(n) }

func (c *count) write(to *bytes.Buffer, name string) { line(to, name, c.labels, float64(c.n.Load())) }

// level is a gauge, or a counter kept elsewhere. Where ok is false it is unknown and omitted.
type level struct {
	labels labels
	read   func() (value float64, ok bool)
}

func (l level) write(to *bytes.Buffer, name string) {
	if value, ok := l.read(); ok {
		line(to, name, l.labels, value)
	}
}

// writeLine writes one value of a family.
type writeLine func(l labels, value float64)

// lines are values whose labels are known only when they are written.
type lines func(write writeLine)

func (all lines) write(to *bytes.Buffer, name string) {
	all(func(l labels, value float64) { line(to, name, l, value) })
}

// durations is a histogram of seconds.
type durations struct {
	labels labels

	mu    sync.Mutex
	below [len(bounds)]int64 // up to each bound, and not up to the one before
	all   int64
	sum   time.Duration
}

// bounds are the upper bounds of its buckets, in seconds: a start takes milliseconds, an analysis may take hours.
var bounds = [...]float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 1800, 3600, 14400, 86400}

func (d *durations) add(took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all++
	d.sum += took
	for i, bound := range bounds {
		if took.Seconds() <= bound {
			d.below[i]++
			return
		}
	}
}

func (d *durations) write(to *bytes.Buffer, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	more := d.labels
	if more != "" {
		more += ","
	}
	var sum int64
	for i, bound := range bounds {
		sum += d.below[i]
		line(to, name+"_bucket", more+labeled("le", number(bound)), float64(sum))
	}
	line(to, name+"_bucket", more+labeled("le", "+Inf"), float64(d.all))
	line(to, name+"_sum", d.labels, d.sum.Seconds())
	line(to, name+"_count", d.labels, float64(d.all))
}
