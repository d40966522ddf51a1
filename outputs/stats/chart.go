package stats

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Chart draws groups, one below the other, for each figure: a box from the median to the 90th percentile, a line from there
// to the maximum with a mark at the 99th percentile, the request, and the suggested limit.
type Chart struct {
	Title  string
	Groups []Group
	Names  []string // of the groups, in their order
}

// mostDrawn bounds the groups.
const mostDrawn = 40

const (
	chartWidth = 860
	plotLeft   = 250
	plotRight  = chartWidth - 40
	rowHeight  = 24
	panelHead  = 34 // above the rows of a figure
	panelFoot  = 34 // below them, for the axis
	chartHead  = 76
)

// chartStyle has the colours as values, since some viewers lack variables.
const chartStyle = `text { font: 13px "DejaVu Sans", Helvetica, Arial, sans-serif; }
.title { font-size: 16px; font-weight: bold; } .dim { font-size: 12px; } .end { text-anchor: end; } .middle { text-anchor: middle; }
.asked { fill: none; stroke-width: 1.5; } .range { stroke-width: 2; }
text { fill: #1f2328; } text.dim { fill: #59636e; } .paper { fill: #ffffff; } .grid { stroke: #d1d9e0; }
.box { fill: #0969da; } .range { stroke: #0969da; } .asked { stroke: #59636e; } .limit { fill: #bc4c00; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } text.dim { fill: #9198a1; } .paper { fill: #0d1117; } .grid { stroke: #3d444d; }
.box { fill: #58a6ff; } .range { stroke: #58a6ff; } .asked { stroke: #9198a1; } .limit { fill: #f0883e; }
}
`

// panel is a figure of all groups.
type panel struct {
	title string
	of    func(Group) Figure
	scale float64 // from measured to drawn values
	unit  string
}

func panels() []panel {
	return []panel{
		{"memory at its peak", func(g Group) Figure { return g.Memory }, 1. / (1 << 20), "MiB"},
		{"CPUs: CPU time by wall time", func(g Group) Figure { return g.CPUs }, 1, ""},
		{"time", func(g Group) Figure { return g.Time }, 1. / 1000, "s"},
	}
}

// SVG returns the chart as a standalone file.
func (c Chart) SVG() []byte {
	groups := c.Groups[:min(len(c.Groups), mostDrawn)]
	height := chartHead + 3*(panelHead+rowHeight*len(groups)+panelFoot)
	d := &drawing{}
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n", chartWidth, height, chartWidth, height)
	d.printf("<title>%s</title>\n<style>%s</style>\n<rect width=\"100%%\" height=\"100%%\" class=\"paper\"/>\n", text(c.Title), chartStyle)
	d.text(20, 28, "title", c.Title)
	d.text(20, 48, "dim", "Box: from the median to the 90th percentile; line: to the greatest; mark: the 99th percentile. Logarithmic.")
	about := "Hollow: the most that was asked for; triangle: a limit that would do."
	if left := len(c.Groups) - len(groups); left > 0 {
		about += fmt.Sprintf(" %d more groups are not drawn.", left)
	}
	d.text(20, 66, "dim", about)
	top := float64(chartHead)
	for _, p := range panels() {
		top = c.panel(d, p, groups, top)
	}
	d.printf("</svg>\n")
	return d.Bytes()
}

// panel draws a figure below top and returns the y at which it ends.
func (c Chart) panel(d *drawing, p panel, groups []Group, top float64) float64 {
	d.text(20, top+18, "", p.title)
	first := top + panelHead
	bottom := first + float64(rowHeight*len(groups))
	axis := axisOf(p, groups)
	for _, mark := range axis.marks() {
		x := axis.at(mark)
		d.line(x, first, x, bottom, "grid")
		d.text(x, bottom+18, "dim middle", amount(mark, p.unit))
	}
	for i, g := range groups {
		y := first + float64(rowHeight*i)
		d.text(plotLeft-12, y+17, "dim end", format.Cut(c.Names[i], 32))
		d.figure(p.of(g), func(x float64) float64 { return axis.at(x * p.scale) }, y+rowHeight/2)
	}
	return bottom + panelFoot
}

// figure draws one group's around the height y; at is a value's position.
func (d *drawing) figure(f Figure, at func(float64) float64, y float64) {
	if f.Asked.Count > 0 {
		d.printf(`<circle cx="%.1f" cy="%.1f" r="4" class="asked"/>`+"\n", at(f.Asked.Max), y)
	}
	if f.Used.Count == 0 {
		return
	}
	from, to := at(f.Used.P50), at(f.Used.P90)
	d.line(from, y, at(f.Used.Max), y, "range")
	d.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="12" class="box"/>`+"\n", from, y-6, math.Max(to-from, 1))
	d.line(at(f.Used.P99), y-7, at(f.Used.P99), y+7, "range")
	if f.Suggested != nil {
		x := at(*f.Suggested)
		d.printf(`<path d="M%.1f %.1fl-5 9h10z" class="limit"/>`+"\n", x, y-4)
	}
}

// axis is logarithmic.
type axis struct{ low, high float64 }

func axisOf(p panel, groups []Group) axis {
	a := axis{math.Inf(1), math.Inf(-1)}
	for _, g := range groups {
		f := p.of(g)
		values := []float64{f.Used.P50, f.Used.Max, f.Asked.Max}
		if f.Suggested != nil {
			values = append(values, *f.Suggested)
		}
		for _, x := range values {
			if x > 0 {
				a.low, a.high = math.Min(a.low, x*p.scale), math.Max(a.high, x*p.scale)
			}
		}
	}
	if a.low > a.high {
		return axis{1, 10} // nothing was measured
	}
	return axis{a.low / 1.2, a.high * 1.2}
}

func (a axis) at(x float64) float64 {
	return plotLeft + math.Log(x/a.low)/math.Log(a.high/a.low)*(plotRight-plotLeft)
}

// marks are powers of ten, in steps that leave at most eight; with 2 and 5 times them if there are few.
func (a axis) marks() (marks []float64) {
	decades := math.Log10(a.high / a.low)
	every, steps := math.Max(1, math.Ceil(decades/8)), []float64{1}
	if decades < 2 {
		steps = []float64{1, 2, 5}
	}
	for power := math.Floor(math.Log10(a.low)); power <= math.Log10(a.high); power++ {
		for _, step := range steps {
			mark := step * math.Pow(10, power)
			if math.Mod(power, every) == 0 && mark >= a.low && mark <= a.high {
				marks = append(marks, mark)
			}
		}
	}
	return marks
}

// amount formats a mark, with thousands and more by name.
func amount(x float64, unit string) string {
	for _, larger := range []struct {
		by   float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x >= larger.by && x < larger.by*1000 {
			return strings.TrimSpace(strconv.FormatFloat(x/larger.by, 'f', -1, 64) + larger.name + " " + unit)
		}
	}
	return strings.TrimSpace(strconv.FormatFloat(x, 'f', -1, 64) + " " + unit)
}

// drawing collects elements.
type drawing struct{ bytes.Buffer }

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(d, format, args...) }

func (d *drawing) line(x1, y1, x2, y2 float64, class string) {
	d.printf(`<path d="M%.1f %.1fL%.1f %.1f" class="%s"/>`+"\n", x1, y1, x2, y2, class)
}

func (d *drawing) text(x, y float64, class, words string) {
	d.printf(`<text x="%.1f" y="%.1f" class="%s">%s</text>`+"\n", x, y, class, text(words))
}

// text escapes a text for XML.
func text(words string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(words)) // a buffer never fails
	return b.String()
}
