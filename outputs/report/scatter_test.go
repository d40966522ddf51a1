package report

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestScatter: numbers are placed by their values, learning rates by their logarithms, and everything else by name.
func TestScatter(t *testing.T) {
	of := func(values ...string) Scatter {
		var points []Point
		for i, v := range values {
			points = append(points, Point{X: v, Y: float64(i)})
		}
		return NewScatter(points, "x", "y", "")
	}
	var seeds []string
	for i := range 200 {
		seeds = append(seeds, fmt.Sprint(i+1))
	}
	for name, c := range map[string]struct {
		plot  Scatter
		ticks string
		log   bool
	}{
		"seeds": {of(seeds...), "20 40 60 80 100 120 140 160 180 200", false},
		"rates": {of("0.1", "0.01", "0.001"), "0.001 0.01 0.1", true},
		"few":   {of("3", "1", "2", "10"), "1 2 3 10", true},
		"words": {of("b", "a", "10", "9"), "9 10 a b", false},
		"one":   {of("5"), "5", false},
	} {
		var got []string
		for _, tick := range c.plot.X {
			got = append(got, tick.Text)
		}
		if strings.Join(got, " ") != c.ticks || strings.Contains(c.plot.Note, "logarithmic") != c.log {
			t.Errorf("%s: %q, %s", name, got, c.plot.Note)
		}
	}
	mean := NewScatter([]Point{{X: "1", Y: 0}, {X: "1", Y: 2}, {X: "2", Y: 1}}, "x", "y", "").Series[0]
	if ys := strings.Fields(strings.NewReplacer("M", "", "L", " ").Replace(mean.Line)); len(ys) != 4 || ys[1] != ys[3] || len(mean.Marks) != 3 {
		t.Errorf("%q", mean.Line)
	}
}

// TestScatterExtremes: for any finite numbers each mark is inside the plot.
func TestScatterExtremes(t *testing.T) {
	values := []float64{0, 1, -1, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1e-300}
	for _, a := range values {
		for _, b := range values {
			s := NewScatter([]Point{{X: fmt.Sprint(a), Y: a}, {X: fmt.Sprint(b), Y: b}}, "x", "y", "")
			for _, m := range s.Series[0].Marks {
				var x, y float64
				_, err := fmt.Sscan(m.At, &x, &y)
				if err != nil || !(x >= scatterLeft && x <= scatterWidth && y >= scatterTop-1 && y <= scatterHeight) {
					t.Errorf("%g and %g: %q", a, b, m.At)
				}
			}
			if len(s.Y) > 12 || len(s.X) > 12 {
				t.Errorf("%g and %g: %d and %d ticks", a, b, len(s.X), len(s.Y))
			}
		}
	}
}
