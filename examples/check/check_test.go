package check

import (
	"math"
	"testing"
)

// Table values of Student's distribution, 97.5 %.
func TestTQuantile(t *testing.T) {
	for freedom, want := range map[int]float64{2: 4.30265273, 5: 2.57058184, 13: 2.16036866, 30: 2.04227246} {
		if got := tQuantile(0.975, freedom); math.Abs(got-want) > 5e-9 {
			t.Errorf("tQuantile(0.975, %d) = %.9f, want %.8f", freedom, got, want)
		}
	}
}

func TestQuantile(t *testing.T) {
	for p, want := range map[float64]float64{0: 1, 0.25: 1.75, 0.5: 2.5, 0.75: 3.25, 1: 4} {
		if got := quantile([]float64{1, 2, 3, 4}, p); got != want {
			t.Errorf("quantile(1 2 3 4, %g) = %g, want %g", p, got, want)
		}
	}
}

func TestCorrelation(t *testing.T) {
	x := []float64{1, 2, 3, 4}
	for _, c := range []struct {
		y    []float64
		want float64
	}{{x, 1}, {[]float64{4, 3, 2, 1}, -1}, {[]float64{1, -1, -1, 1}, 0}} {
		if got := correlation(x, c.y); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("correlation(%v, %v) = %g, want %g", x, c.y, got, c.want)
		}
	}
}
