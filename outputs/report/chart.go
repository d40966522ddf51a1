package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// The chart of a curve, in units of SVG: the plot, with the scales left of it and below.
const (
	chartWidth, chartHeight = 700.0, 150.0
	chartLeft, chartBottom  = 64.0, 22.0
	chartTop, chartRight    = 10.0, 10.0
)

// curvePoints is the minimum number of points: for fewer the peaks suffice.
const curvePoints = 4

// curve is a usage over the time of a run. Each point covers the time since the one before it, so it is drawn in steps.
type curve struct {
	Title, Alt string
	Line, Area string // attributes d of paths
	Limit      string // y of the limit's line; empty if above the chart
	Note       string
	X, Y       []tick
}

// tick is a label at its position.
type tick struct{ At, Text string }

// newCurves are none if the run has no samples or only a few.
func newCurves(r result.Result) []curve {
	s := r.Series
	if s == nil || len(s.TMS) < curvePoints || len(s.MemoryBytes) != len(s.TMS) || len(s.CPUMS) != len(s.TMS) {
		return nil
	}
	memory := "Memory"
	if s.Source == "processes" {
		memory = "Memory, as the sum of what its processes have resident"
	}
	return []curve{
		draw(curve{Title: memory}, s.TMS, floats(s.MemoryBytes), scale{quantity("memory", r.EnforcementOf("memory").Effective), bytesUnit, func(x float64) string { return format.Size(int64(x)) }}),
		draw(curve{Title: "CPUs in use"}, s.TMS, rates(s.TMS, s.CPUMS), scale{quantity("cpus", r.EnforcementOf("cpus").Effective), decimal, func(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }}),
	}
}

func floats(list []int64) []float64 {
	all := make([]float64, len(list))
	for i, x := range list {
		all[i] = float64(x)
	}
	return all
}

// rates is the CPU time used per second before each point.
func rates(at, used []int64) []float64 {
	all := make([]float64, len(at))
	for i := 1; i < len(at); i++ {
		if passed := at[i] - at[i-1]; passed > 0 {
			all[i] = float64(used[i]-used[i-1]) / float64(passed)
		} else {
			all[i] = all[i-1]
		}
	}
	if len(all) > 1 {
		all[0] = all[1]
	}
	return all
}

// scale is how a curve's values are shown.
type scale struct {
	limit float64 // 0 if there is none
	unit  func(x float64) float64
	text  func(x float64) string
}

// decimal is the greatest of 1, 2, 5 and their tenfolds that is not above x.
func decimal(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, factor := range []float64{5, 2} {
		if factor*power <= x {
			return factor * power
		}
	}
	return power
}

// bytesUnit is the greatest power of two that is not above x.
func bytesUnit(x float64) float64 { return math.Exp2(math.Floor(math.Log2(x))) }

func draw(c curve, at []int64, values []float64, s scale) curve {
	peak := 0.0
	for _, v := range values {
		peak = max(peak, v)
	}
	top := peak
	if s.limit > 0 && s.limit <= 4*peak {
		top = max(top, s.limit)
	}
	if top <= 0 || at[len(at)-1] <= at[0] {
		c.Note = "Nothing was measured."
		return c
	}
	y := func(v float64) string { return coordinate(chartTop + (1-v/top)*(chartHeight-chartTop-chartBottom)) }
	x := func(t float64) string {
		return coordinate(chartLeft + t/float64(at[len(at)-1])*(chartWidth-chartLeft-chartRight))
	}
	c.steps(at, values, x, y)
	c.scales(top, float64(at[len(at)-1]), s, x, y)
	c.Note = "No limit."
	if s.limit > 0 {
		c.Note = "The limit is " + s.text(s.limit) + "."
		if s.limit <= top {
			c.Limit = y(s.limit)
			c.Note += " It is the dashed line."
		}
	}
	c.Alt = fmt.Sprintf("%s over %s: %s at most. %s", c.Title, format.Duration(at[len(at)-1]), s.text(peak), c.Note)
	return c
}

func (c *curve) steps(at []int64, values []float64, x, y func(float64) string) {
	var d strings.Builder
	fmt.Fprintf(&d, "M%s %s", x(0), y(values[0]))
	for i, v := range values {
		fmt.Fprintf(&d, "V%sH%s", y(v), x(float64(at[i])))
	}
	c.Line = d.String()
	c.Area = c.Line + "V" + y(0) + "H" + x(0) + "Z"
}

func (c *curve) scales(top, end float64, s scale, x, y func(float64) string) {
	step := s.unit(top / 2)
	for v := 0.0; v <= top*1.001; v += step {
		c.Y = append(c.Y, tick{y(v), s.text(v)})
	}
	step = seconds(end / 5)
	for t := 0.0; t <= end*1.001; t += step {
		c.X = append(c.X, tick{x(t), time.Duration(t * float64(time.Millisecond)).String()})
	}
}

// seconds is the next step of a time scale that is at least so many milliseconds, in customary units.
func seconds(ms float64) float64 {
	for power := 1.0; power < 10_000; power *= 10 {
		for _, factor := range []float64{1, 2, 5} {
			if factor*power >= ms {
				return factor * power
			}
		}
	}
	for _, step := range []float64{10, 15, 30, 60, 120, 300, 600, 1200, 3600, 7200, 14_400, 43_200} {
		if 1000*step >= ms {
			return 1000 * step
		}
	}
	return 86_400_000 * math.Ceil(ms/86_400_000)
}

func coordinate(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
