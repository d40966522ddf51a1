package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// The plot of a parameter against a metric, in units of SVG.
const (
	scatterWidth, scatterHeight = 700.0, 330.0
	scatterLeft, scatterBottom  = 72.0, 40.0
	scatterTop, scatterRight    = 14.0, 20.0

	seriesShown   = 6
	namesShown    = 12 // values of a parameter that are no numbers
	ticksOfValues = 8  // values of a parameter that each have a tick
)

// Point is a run in a plot: the values of its parameters as text, and of the metric.
type Point struct {
	X, By string
	Y     float64 // finite
	Run   string
}

// Scatter is a plot of runs. All of its text is the analysis', or of those who gave the labels.
type Scatter struct {
	Title, XName, YName, By string
	X, Y                    []tick
	Series                  []series
	Alt, Note               string
}

// series are the points that share a value of another parameter.
type series struct {
	Name  string
	Class string
	Marks []markAt
	Line  string // through the means
	Mark  string // its shape, at 0 0
}

// markAt is a mark at its position.
type markAt struct{ At, Title string }

// shapes distinguish series without colours.
var shapes = [seriesShown]string{
	"M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z", "M-3.6-3.6h7.2v7.2h-7.2Z", "M0-5L5 0L0 5L-5 0Z", "M0-4.8L4.6 3.6H-4.6Z", "M0 4.8L4.6-3.6H-4.6Z", "M-4.5-1.5h3v-3h3v3h3v3h-3v3h-3v-3h-3Z",
}

// NewScatter plots runs: a parameter to the right, a metric upwards, and a mark for each value of another parameter.
func NewScatter(points []Point, x, y, by string) Scatter {
	s := Scatter{XName: format.Cut(x, 40), YName: format.Cut(y, 40), By: format.Cut(by, 40)}
	s.Title = s.YName + " by " + s.XName
	if len(points) == 0 {
		s.Note = "No run has a number to show."
		return s
	}
	across, up := newAxis(points), newRange(points)
	s.X, s.Y = across.ticks(), up.ticks()
	groups := map[string][]Point{}
	for _, p := range points {
		groups[p.By] = append(groups[p.By], p)
	}
	names := slices.SortedFunc(maps.Keys(groups), ByValue)
	for i, name := range names[:min(len(names), seriesShown)] {
		s.Series = append(s.Series, newSeries(i, name, groups[name], across, up))
	}
	s.Note = s.note(len(names), across)
	s.Alt = fmt.Sprintf("%s against %s of %s, from %s to %s. The table below has all values.", s.YName, s.XName, format.Count(len(points), "run", "runs"), short(up.least), short(up.most))
	return s
}

func (s Scatter) note(groups int, across axis) string {
	var notes []string
	if groups > seriesShown {
		notes = append(notes, fmt.Sprintf("The first %d of %d values of %s are shown.", seriesShown, groups, s.By))
	}
	if across.log {
		notes = append(notes, "The scale of "+s.XName+" is logarithmic.")
	}
	if across.left > 0 {
		notes = append(notes, fmt.Sprintf("The first %d of %d values of %s are named.", namesShown, len(across.names), s.XName))
	}
	return strings.Join(append(notes, "A line goes through the means."), " ")
}

func newSeries(i int, name string, points []Point, across axis, up span) series {
	s := series{Name: format.Cut(name, 40), Class: "s" + strconv.Itoa(i), Mark: shapes[i]}
	sums, counts := map[float64]float64{}, map[float64]float64{}
	for _, p := range points {
		x := across.position(p.X)
		sums[x], counts[x] = sums[x]+p.Y, counts[x]+1
		s.Marks = append(s.Marks, markAt{coordinate(x) + " " + coordinate(up.position(p.Y)), visible(format.Cut(p.Run, 80)) + ": " + visible(format.Cut(p.X, 40)) + ", " + short(p.Y)})
	}
	var line []string
	for _, x := range slices.Sorted(maps.Keys(sums)) {
		line = append(line, coordinate(x)+" "+coordinate(up.position(sums[x]/counts[x])))
	}
	if len(line) > 1 {
		s.Line = "M" + strings.Join(line, "L")
	}
	return s
}

// span is the range of the metric.
type span struct{ least, most float64 }

func newRange(points []Point) span {
	s := span{points[0].Y, points[0].Y}
	for _, p := range points {
		s.least, s.most = min(s.least, p.Y), max(s.most, p.Y)
	}
	return s.padded()
}

// padded has a width, also if all values are equal or too close to each other.
func (s span) padded() span {
	if s.most-s.least > 1e-300 {
		return s
	}
	room := max(math.Abs(s.most), 1e-9) / 2
	return span{max(s.least-room, -math.MaxFloat64), min(s.most+room, math.MaxFloat64)}
}

func (s span) share(v float64) float64 { return (v/2 - s.least/2) / (s.most/2 - s.least/2) } // halves do not overflow

func (s span) position(v float64) float64 {
	return scatterTop + (1-s.share(v))*(scatterHeight-scatterTop-scatterBottom)
}

func (s span) steps() (values []float64) {
	step := decimal(s.most/4 - s.least/4)
	if step <= 0 || math.IsNaN(step) {
		return nil
	}
	for v := math.Ceil(s.least/step) * step; v <= s.most && len(values) < 12; v += step {
		values = append(values, v)
	}
	return values
}

func (s span) ticks() (all []tick) {
	for _, v := range s.steps() {
		all = append(all, tick{coordinate(s.position(v)), short(v)})
	}
	return all
}

// axis is that of a parameter: numbers, or else names in order.
type axis struct {
	names []string // in order; all values of the parameter
	span
	number, log bool
	left        int // names without a tick
}

func newAxis(points []Point) axis {
	values := map[string]bool{}
	for _, p := range points {
		values[p.X] = true
	}
	a := axis{names: slices.SortedFunc(maps.Keys(values), ByValue), number: true}
	for _, name := range a.names {
		a.number = a.number && Finite(name)
	}
	if !a.number {
		a.span = span{-0.5, float64(len(a.names)) - 0.5}
		a.left = max(len(a.names)-namesShown, 0)
		return a
	}
	first, last := Value(a.names[0]), Value(a.names[len(a.names)-1])
	a.log = first > 0 && last/first >= 5 && a.evenly()
	a.span = span{a.scaled(first), a.scaled(last)}.padded()
	return a
}

// evenly reports whether a logarithmic scale spreads the values more evenly than a linear one.
func (a axis) evenly() bool {
	linear, log := 0.0, 0.0 // the widest gaps
	for i := 1; i < len(a.names); i++ {
		before, after := Value(a.names[i-1]), Value(a.names[i])
		linear, log = max(linear, after-before), max(log, math.Log10(after)-math.Log10(before))
	}
	first, last := Value(a.names[0]), Value(a.names[len(a.names)-1])
	return log/(math.Log10(last)-math.Log10(first)) < linear/(last-first)
}

func (a axis) scaled(v float64) float64 {
	if a.log {
		return math.Log10(v)
	}
	return v
}

func (a axis) at(v float64) float64 {
	const inset = 14 // marks at the ends do not lie on the edge
	return scatterLeft + inset + a.share(v)*(scatterWidth-scatterLeft-scatterRight-2*inset)
}

func (a axis) position(name string) float64 {
	if !a.number {
		return a.at(float64(slices.Index(a.names, name)))
	}
	return a.at(a.scaled(Value(name)))
}

func (a axis) ticks() (all []tick) {
	if a.number && len(a.names) > ticksOfValues && !a.log {
		for _, v := range a.steps() {
			all = append(all, tick{coordinate(a.at(v)), short(v)})
		}
		return all
	}
	most := namesShown
	if a.number {
		most = ticksOfValues
	}
	every := (len(a.names) + most - 1) / most
	for i, name := range a.names {
		if !a.number && i < most || a.number && i%every == 0 {
			all = append(all, tick{coordinate(a.position(name)), visible(format.Cut(name, 12))})
		}
	}
	return all
}

// ByValue orders numbers by their values, and before all else.
func ByValue(a, b string) int {
	switch x, y := Finite(a), Finite(b); {
	case x && y:
		return cmp.Or(cmp.Compare(Value(a), Value(b)), strings.Compare(a, b))
	case x:
		return -1
	case y:
		return 1
	}
	return strings.Compare(a, b)
}

// Finite reports whether a text is a finite number.
func Finite(text string) bool {
	v, err := strconv.ParseFloat(text, 64)
	return err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
}

// Value is the number of a text that is one.
func Value(text string) float64 {
	v, _ := strconv.ParseFloat(text, 64) // Finite has looked
	return v
}

// short is a number with the digits that a plot needs.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
