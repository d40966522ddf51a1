package meter

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// seconds records so many samples, one a second, with one peak of each kind in the second at.
func seconds(n, at int) *recorder {
	r := &recorder{}
	for i := range n {
		s := Sample{At: time.Duration(i) * time.Second, Memory: 100, Pids: 2, CPU: time.Duration(i) * time.Second / 2}
		if i == at {
			s.Memory, s.Pids = 9000, 77
		}
		r.add(s)
	}
	return r
}

// TestSeriesIsBounded: of any length, with the first and the last Sample, all of it, in order.
func TestSeriesIsBounded(t *testing.T) {
	const month = 30 * 24 * 3600
	for _, n := range []int{1, 2, 240, 241, 242, 243, 481, 482, 1000, 1801, month} {
		r := seconds(n, -1)
		s := r.series
		points := len(s.TMS)
		if points > seriesMax+1 || n > seriesMax && points <= seriesMax/2 || n <= seriesMax && points != n {
			t.Errorf("%d samples make %d points", n, points)
		}
		if s.TMS[0] != 0 || s.TMS[points-1] != int64(n-1)*1000 || s.CPUMS[points-1] != int64(n-1)*500 {
			t.Errorf("%d samples are from %d to %d ms, CPU %d ms", n, s.TMS[0], s.TMS[points-1], s.CPUMS[points-1])
		}
		for i := 2; i < points-1; i++ {
			if s.TMS[i]-s.TMS[i-1] != int64(r.stride)*1000 || s.CPUMS[i]*2 != s.TMS[i] {
				t.Fatalf("%d samples: point %d is at %d ms after %d, CPU %d, stride %d", n, i, s.TMS[i], s.TMS[i-1], s.CPUMS[i], r.stride)
			}
		}
		if raw, err := json.Marshal(s); err != nil || len(raw) > 10_000 {
			t.Errorf("%d samples make %d bytes (%v)", n, len(raw), err)
		}
	}
}

// TestSeriesKeepsPeaks: wherever a peak of a second falls, no halving loses it or moves it out of its point.
func TestSeriesKeepsPeaks(t *testing.T) {
	for at := range 1801 {
		s := seconds(1801, at).series
		memory, pids := slices.Index(s.MemoryBytes, 9000), slices.Index(s.Pids, 77)
		if memory < 0 || memory != pids {
			t.Fatalf("the peak of second %d is at %d and %d", at, memory, pids)
		}
		ms := int64(at) * 1000
		if ms > s.TMS[memory] || memory > 0 && ms <= s.TMS[memory-1] {
			t.Fatalf("the peak of second %d is in the point of %d ms", at, s.TMS[memory])
		}
	}
}

// TestSeriesOfPeaks: what the kernel saw between two samples stands in the point of that time, once.
func TestSeriesOfPeaks(t *testing.T) {
	r := recorder{}
	for i, s := range []Sample{
		{Memory: 10, MemoryPeak: 30, Pids: 1, PidsPeak: 4},
		{Memory: 20, MemoryPeak: 30, Pids: 2, PidsPeak: 4},
		{Memory: 20, MemoryPeak: 50, Pids: 2, PidsPeak: 9},
		{Memory: 60, Pids: 12}, // a kernel that counts no peaks
	} {
		s.At = time.Duration(i) * time.Second
		r.add(s)
	}
	if want := []int64{30, 20, 50, 60}; !slices.Equal(r.series.MemoryBytes, want) {
		t.Errorf("memory %v, want %v", r.series.MemoryBytes, want)
	}
	if want := []int64{4, 2, 9, 12}; !slices.Equal(r.series.Pids, want) || r.pidsPeak != 12 || r.memoryPeak != 60 {
		t.Errorf("pids %v, want %v; peaks %d, %d", r.series.Pids, want, r.memoryPeak, r.pidsPeak)
	}
}

// TestSeriesEnds: a short run has a point, and no clock runs backwards or beyond the end.
func TestSeriesEnds(t *testing.T) {
	r := recorder{}
	r.end(Sample{At: 300 * time.Millisecond, MemoryPeak: 5, CPU: 20 * time.Millisecond})
	if s := r.series; !slices.Equal(s.TMS, []int64{300}) || s.MemoryBytes[0] != 5 || s.CPUMS[0] != 20 {
		t.Errorf("a series of the end alone is %+v", s)
	}
	r = recorder{}
	r.add(Sample{At: 5 * time.Millisecond, CPU: 30 * time.Millisecond})
	r.add(Sample{At: -time.Hour, CPU: 10 * time.Millisecond})
	r.end(Sample{At: 3 * time.Millisecond, CPU: 40 * time.Millisecond})
	if s := r.series; !slices.Equal(s.TMS, []int64{3, 3, 3}) || !slices.Equal(s.CPUMS, []int64{30, 30, 40}) {
		t.Errorf("a clock that is set back makes %+v", s)
	}
}

// TestMeasure: what nobody counted is the greatest of the samples, and said to be.
func TestMeasure(t *testing.T) {
	const second = time.Second
	for name, c := range map[string]struct {
		last         Sample
		source       string
		memory, pids int64
		sampled      []string
	}{
		"counted":                {Sample{MemoryPeak: 500, PidsPeak: 9, CPU: second}, result.FromCgroup, 500, 9, nil},
		"an older kernel":        {Sample{PidsPeak: 9, CPU: second}, result.FromCgroup, 200, 9, []string{"memory_peak_bytes"}},
		"an even older one":      {Sample{CPU: second}, result.FromCgroup, 200, 3, []string{"memory_peak_bytes", "pids_peak"}},
		"a group that is gone":   {Sample{}, result.FromCgroup, 200, 3, []string{"cpu_ms", "memory_peak_bytes", "pids_peak"}},
		"no group":               {Sample{MemoryPeak: 90, CPU: second}, result.FromProcesses, 200, 3, []string{"memory_peak_bytes", "pids_peak"}},
		"no group, killed":       {Sample{MemoryPeak: 90, CPU: second / 100}, result.FromProcesses, 200, 3, []string{"cpu_ms", "memory_peak_bytes", "pids_peak"}},
		"no group, a great peak": {Sample{MemoryPeak: 700, CPU: second}, result.FromProcesses, 700, 3, []string{"memory_peak_bytes", "pids_peak"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &Meter{}
			m.Start(time.Now())
			m.Add(Sample{Memory: 200, Pids: 3, CPU: second})
			var u result.Usage
			series := m.End(c.last, c.source, sandbox.Exit{}, &u)
			if u.MemoryPeakBytes != c.memory || u.PidsPeak != c.pids || !slices.Equal(u.Sampled, c.sampled) || series.Source != c.source || u.CPUMS != 1000 {
				t.Errorf("%+v from %s, want %+v", u, series.Source, c)
			}
		})
	}
}

// TestEndOfABriefRun: a run that has started took a millisecond at least; statistics leave out what took none.
func TestEndOfABriefRun(t *testing.T) {
	for started, want := range map[bool]int64{true: 1, false: 0} {
		m := Meter{started: started}
		m.recorder.add(Sample{})
		var u result.Usage
		series := m.End(Sample{}, result.FromCgroup, sandbox.Exit{}, &u)
		if u.WallMS != want || started && series.TMS[len(series.TMS)-1] != want {
			t.Errorf("started %v: %d ms, series %+v", started, u.WallMS, series)
		}
	}
}
