package stats_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/stats"
)

// run is one of so many seconds, that used half a core and so many MiB.
func run(seconds, mebibytes int64) catalog.Usage {
	return catalog.Usage{
		WallMS: seconds * 1000, CPUMS: seconds * 500, MemoryPeak: mebibytes << 20,
		Memory: 2 << 30, CPUs: 1, TimeoutMS: 1_800_000,
	}
}

func of(label string, u catalog.Usage) catalog.Usage {
	u.Label, u.Labelled = label, true
	return u
}

func TestQuantiles(t *testing.T) {
	tests := []struct {
		name   string
		values []int64
		want   stats.Quantiles
	}{
		{"none", nil, stats.Quantiles{}},
		{"one", []int64{7}, stats.Quantiles{1, 7000, 7000, 7000, 7000}},
		{"two", []int64{2, 1}, stats.Quantiles{2, 1000, 2000, 2000, 2000}},
		{"ten", upTo(10), stats.Quantiles{10, 5000, 9000, 10000, 10000}},
		{"a hundred", upTo(100), stats.Quantiles{100, 50_000, 90_000, 99_000, 100_000}},
		{"101", upTo(101), stats.Quantiles{101, 51_000, 91_000, 100_000, 101_000}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rand.Shuffle(len(tt.values), func(i, j int) { tt.values[i], tt.values[j] = tt.values[j], tt.values[i] })
			var c stats.Collector
			for _, seconds := range tt.values {
				c.Add(run(seconds, 1))
			}
			groups := c.Groups(stats.DefaultRules())
			if len(tt.values) == 0 {
				if len(groups) != 0 {
					t.Errorf("groups %+v of no runs", groups)
				}
				return
			}
			if got := groups[0].Time.Used; got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

func upTo(n int64) (all []int64) {
	for i := int64(1); i <= n; i++ {
		all = append(all, i)
	}
	return all
}

func TestGroups(t *testing.T) {
	var c stats.Collector
	c.Add(run(1, 10))
	c.Add(of("few", run(30, 100)))
	for range 3 {
		c.Add(of("many", run(2, 20)))
	}
	c.Add(of("", run(4, 0)))    // the empty value is one, and nothing measured its memory
	c.Add(of("few", run(0, 0))) // it never began
	c.Add(of("also few", run(8, 1)))
	var got []any
	for _, g := range c.Groups(stats.DefaultRules()) {
		label := "(none)"
		if g.Label != nil {
			label = *g.Label
		}
		got = append(got, label, g.Runs, g.Memory.Used.Count, g.Memory.Used.Max/(1<<20), g.CPUs.Used.P50, g.Time.Asked.Max, g.CPUTime.P50)
	}
	want := []any{
		"many", 3, 3, 20., 0.5, 1.8e6, 1000.,
		"", 1, 0, 0., 0.5, 1.8e6, 2000.,
		"also few", 1, 1, 1., 0.5, 1.8e6, 4000.,
		"few", 1, 1, 100., 0.5, 1.8e6, 15000.,
		"(none)", 1, 1, 10., 0.5, 1.8e6, 500.,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("groups\n%v, want\n%v", got, want)
	}
}

func TestSuggested(t *testing.T) {
	var c stats.Collector
	for i := range int64(200) {
		u := run(100+i, 100)
		u.TimedOut, u.OutOfMemory = i < 3, i < 2 // 1.5 and 1 in a hundred
		c.Add(u)
	}
	g := c.Groups(stats.DefaultRules())[0]
	if g.Time.AtLimit != 3 || g.Memory.AtLimit != 2 {
		t.Errorf("%d timed out, %d out of memory; want 3, 2", g.Time.AtLimit, g.Memory.AtLimit)
	}
	if g.Time.Suggested != nil {
		t.Errorf("a limit of %v is suggested for the time, which nobody knows", *g.Time.Suggested)
	}
	if g.Memory.Suggested == nil || *g.Memory.Suggested != 128<<20 {
		t.Errorf("memory %v, want 128 MiB", g.Memory.Suggested)
	}
	if g.CPUs.Suggested == nil || *g.CPUs.Suggested != 0.75 {
		t.Errorf("CPUs %v, want 0.75", g.CPUs.Suggested)
	}
}

func TestRule(t *testing.T) {
	rules := stats.DefaultRules()
	for _, tt := range []struct {
		rule      stats.Rule
		p99, want float64
	}{
		{rules.Memory, 1, 64 << 20},
		{rules.Memory, 51.2 * (1 << 20), 64 << 20}, // to the byte what a step is
		{rules.Memory, 52 << 20, 128 << 20},
		{rules.CPUs, 0.01, 0.25},
		{rules.CPUs, 1, 1.25},
		{rules.CPUs, 1.01, 1.5},
		{rules.Time, 10, 60_000},
		{rules.Time, 30_000, 60_000},
		{rules.Time, 30_001, 120_000},
	} {
		if got := tt.rule.Limit(tt.p99); got != tt.want {
			t.Errorf("%+v of %v = %v, want %v", tt.rule, tt.p99, got, tt.want)
		}
	}
}

// TestShortRunsHaveNoCores: half a second of two cores is the start of a program.
func TestShortRunsHaveNoCores(t *testing.T) {
	var c stats.Collector
	short := run(1, 10)
	short.WallMS, short.CPUMS = 999, 1998
	c.Add(short)
	if g := c.Groups(stats.DefaultRules())[0]; g.CPUs.Used.Count != 0 || g.CPUs.Suggested != nil || g.Runs != 1 || g.CPUTime.Count != 1 || g.Time.Used.Count != 1 {
		t.Errorf("%+v", g)
	}
	c.Add(run(1, 10))
	if g := c.Groups(stats.DefaultRules())[0]; g.CPUs.Used.Max != 0.5 || *g.CPUs.Suggested != 0.75 {
		t.Errorf("%+v", g.CPUs)
	}
}

func TestSuggestedIsBoundedByTheHost(t *testing.T) {
	rule := stats.Rule{Headroom: 1.25, Step: 4, Most: 10}
	for p99, want := range map[float64]float64{1: 4, 6: 8, 7: 10, 100: 10} {
		if got := rule.Limit(p99); got != want {
			t.Errorf("of %g: %g, want %g", p99, got, want)
		}
	}
}
