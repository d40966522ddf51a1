package meter

import (
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// seriesMax is how many points a series has at most besides its first; even, so that two make one.
const seriesMax = 240

// Sample is one sample of a run. The peaks are since its start; 0 where not counted.
type Sample struct {
	At                 time.Duration // since the start
	Memory, MemoryPeak int64
	Pids, PidsPeak     int64
	CPU                time.Duration
}

// recorder makes a series of samples. When it is full it joins the points in pairs, and each point then takes twice as many
// samples.
type recorder struct {
	series               result.Series
	stride, filled       int   // samples per point, and how many the last one has
	memoryPeak, pidsPeak int64 // the greatest so far
}

func (r *recorder) add(s Sample) {
	memory, pids := sinceLast(s.Memory, s.MemoryPeak, &r.memoryPeak), sinceLast(s.Pids, s.PidsPeak, &r.pidsPeak)
	whole := r.filled == r.stride
	if whole && len(r.series.TMS) > seriesMax {
		r.halve()
	}
	r.append(s, memory, pids)
	if whole {
		r.stride, r.filled = max(r.stride, 1), 1 // the first point is not merged with others
		return
	}
	last := len(r.series.TMS) - 1
	r.merge(last-1, last-1)
	r.cut(last)
	r.filled++
}

// end adds the last sample. A slow launcher may have read the others a moment after the end.
func (r *recorder) end(s Sample) {
	r.add(s)
	for i, t := range r.series.TMS {
		r.series.TMS[i] = min(t, s.At.Milliseconds())
	}
}

// sinceLast is the maximum since the sample before. A peak that has risen did so then.
func sinceLast(now, peak int64, greatest *int64) int64 {
	if peak > *greatest {
		now = max(now, peak)
	}
	*greatest = max(*greatest, now)
	return now
}

// append adds a point. Neither time nor CPU time runs backwards in a series: the clock may be set, and CPU time is lost with
// a process that its parent does not wait for.
func (r *recorder) append(s Sample, memory, pids int64) {
	t, cpu := s.At.Milliseconds(), s.CPU.Milliseconds()
	if last := len(r.series.TMS) - 1; last >= 0 {
		t, cpu = max(t, r.series.TMS[last]), max(cpu, r.series.CPUMS[last])
	}
	v := &r.series
	v.TMS, v.CPUMS = append(v.TMS, max(t, 0)), append(v.CPUMS, cpu)
	v.MemoryBytes, v.Pids = append(v.MemoryBytes, memory), append(v.Pids, pids)
}

// halve joins the points in pairs, except the first.
func (r *recorder) halve() {
	to := 1
	for from := 1; from+1 < len(r.series.TMS); from += 2 {
		r.merge(to, from)
		to++
	}
	r.cut(to)
	r.stride *= 2
}

// merge makes point to of from and the next one.
func (r *recorder) merge(to, from int) {
	v := &r.series
	v.TMS[to], v.CPUMS[to] = v.TMS[from+1], v.CPUMS[from+1]
	v.MemoryBytes[to] = max(v.MemoryBytes[from], v.MemoryBytes[from+1])
	v.Pids[to] = max(v.Pids[from], v.Pids[from+1])
}

func (r *recorder) cut(n int) {
	v := &r.series
	v.TMS, v.CPUMS, v.MemoryBytes, v.Pids = v.TMS[:n], v.CPUMS[:n], v.MemoryBytes[:n], v.Pids[:n]
}
