// Package stats computes what runs used of what they requested, and which limits would have been enough. It is pure.
package stats

import (
	"cmp"
	"math"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Group is the statistics of the runs that have one value of a label, or of all.
type Group struct {
	// Label is the value, nil for runs without the label and if no label was requested.
	Label *string `json:"label"`
	Runs  int     `json:"runs"`

	Memory Figure `json:"memory"` // bytes, at the peak
	CPUs   Figure `json:"cpus"`   // cores: CPU time by wall time, of runs of a second or more
	Time   Figure `json:"time"`   // milliseconds of wall time
	// CPUTime is in milliseconds; no limit bounds it.
	CPUTime Quantiles `json:"cpu_time"`
}

// Figure is a resource that runs use and limits bound.
type Figure struct {
	Used  Quantiles `json:"used"`
	Asked Quantiles `json:"asked"`
	// AtLimit counts the runs that the limit ended.
	AtLimit int `json:"at_limit"`
	// Suggested is a limit by the Rule of the figure. It is nil if there is none: nothing was measured, or the limit ended
	// more than one run in a hundred, so that the 99th percentile is the limit's and not the runs'.
	Suggested *float64 `json:"suggested"`
}

// Quantiles are by nearest rank: P90 is the least value that 90 in 100 do not exceed. All are 0 if Count is.
type Quantiles struct {
	Count int     `json:"count"` // how many runs have a value
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// Rule makes a limit of a 99th percentile: times Headroom, up to the next multiple of Step, but at most Most.
type Rule struct {
	Headroom float64 `json:"headroom"`
	Step     float64 `json:"step"`
	Most     float64 `json:"most,omitempty"` // what the host has; 0 is no bound
}

// Rules are those of the figures. Time has the most headroom, because other load on the host stretches it.
type Rules struct {
	Memory Rule `json:"memory"`
	CPUs   Rule `json:"cpus"`
	Time   Rule `json:"time"`
}

// DefaultRules returns the rules that suggest limits.
func DefaultRules() Rules {
	return Rules{
		Memory: Rule{Headroom: 1.25, Step: 64 << 20}, CPUs: Rule{Headroom: 1.25, Step: 0.25}, Time: Rule{Headroom: 2, Step: 60_000},
	}
}

// Limit is the limit for a 99th percentile.
func (r Rule) Limit(p99 float64) float64 {
	limit := math.Ceil(p99*r.Headroom/r.Step) * r.Step
	if r.Most > 0 {
		return min(limit, r.Most)
	}
	return limit
}

// Collector collects the usage of runs, some 50 bytes for each.
type Collector struct {
	labelled  map[string]*samples
	unlabeled samples
}

// coresFrom is the wall time in milliseconds from which a run counts for the cores: that of a shorter one is mostly the start
// of its programs, and the clock of CPU time is coarse.
const coresFrom = 1000

// samples are what the runs of a group used and requested, unsorted.
type samples struct {
	runs                  int
	memory, cpus, wall    series
	cpuTime               []float64
	outOfMemory, timedOut int
}

type series struct{ used, asked []float64 }

// Add counts a run. One that never started used nothing, omitted.
func (c *Collector) Add(u catalog.Usage) {
	if u.WallMS <= 0 {
		return
	}
	c.of(u).add(u)
}

func (c *Collector) of(u catalog.Usage) *samples {
	if !u.Labelled {
		return &c.unlabeled
	}
	if c.labelled == nil {
		c.labelled = map[string]*samples{}
	}
	s := c.labelled[u.Label]
	if s == nil {
		s = &samples{}
		c.labelled[u.Label] = s
	}
	return s
}

func (s *samples) add(u catalog.Usage) {
	s.runs++
	s.memory.used = known(s.memory.used, float64(u.MemoryPeak))
	s.memory.asked = known(s.memory.asked, float64(u.Memory))
	if u.WallMS >= coresFrom {
		s.cpus.used = known(s.cpus.used, float64(u.CPUMS)/float64(u.WallMS))
	}
	s.cpus.asked = known(s.cpus.asked, u.CPUs)
	s.wall.used = known(s.wall.used, float64(u.WallMS))
	s.wall.asked = known(s.wall.asked, float64(u.TimeoutMS))
	s.cpuTime = known(s.cpuTime, float64(u.CPUMS))
	if u.OutOfMemory {
		s.outOfMemory++
	}
	if u.TimedOut {
		s.timedOut++
	}
}

// known adds a value that is one.
func known(all []float64, value float64) []float64 {
	if value <= 0 {
		return all
	}
	return append(all, value)
}

// Groups returns the statistics, largest groups first, runs without the label last. The collector cannot be used any more.
func (c *Collector) Groups(rules Rules) []Group {
	var groups []Group
	for label, s := range c.labelled {
		group := s.group(rules)
		group.Label = &label
		groups = append(groups, group)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(*a.Label, *b.Label))
	})
	if c.unlabeled.runs > 0 {
		groups = append(groups, c.unlabeled.group(rules))
	}
	return groups
}

func (s *samples) group(rules Rules) Group {
	return Group{
		Runs:    s.runs,
		Memory:  s.memory.figure(rules.Memory, s.outOfMemory),
		CPUs:    s.cpus.figure(rules.CPUs, 0),
		Time:    s.wall.figure(rules.Time, s.timedOut),
		CPUTime: quantiles(s.cpuTime),
	}
}

func (s series) figure(rule Rule, atLimit int) Figure {
	f := Figure{Used: quantiles(s.used), Asked: quantiles(s.asked), AtLimit: atLimit}
	if f.Used.Count > 0 && atLimit*100 <= f.Used.Count {
		limit := rule.Limit(f.Used.P99)
		f.Suggested = &limit
	}
	return f
}

// quantiles sorts values.
func quantiles(values []float64) Quantiles {
	if len(values) == 0 {
		return Quantiles{}
	}
	slices.Sort(values)
	at := func(percent int) float64 { return values[(len(values)*percent+99)/100-1] }
	return Quantiles{Count: len(values), P50: at(50), P90: at(90), P99: at(99), Max: at(100)}
}
