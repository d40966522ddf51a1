package check

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
)

// FMRI compares timecourses.csv in outDir with means and 95 % confidence intervals computed from
// fmri.csv in dataDir, and looks at timecourses.svg or timecourses.png.
func FMRI(dataDir, outDir string) error {
	rows, err := readCSV(filepath.Join(dataDir, "fmri.csv"))
	if err != nil {
		return err
	}
	signals := map[string][]float64{}
	for _, row := range rows[1:] { // subject, timepoint, event, region, signal
		signal, err := strconv.ParseFloat(row[4], 64)
		if err != nil {
			return fmt.Errorf("fmri.csv: %w", err)
		}
		course := key(row[3], row[2], row[1])
		signals[course] = append(signals[course], signal)
	}
	want := table{}
	quantiles := map[int]float64{}
	for course, values := range signals {
		n := len(values)
		if quantiles[n] == 0 {
			quantiles[n] = tQuantile(0.975, n-1)
		}
		mean, sd := moments(values)
		half := quantiles[n] * sd / math.Sqrt(float64(n))
		want[course] = []float64{float64(n), mean, sd, mean - half, mean + half}
	}
	header := []string{"region", "event", "timepoint", "n", "mean", "sd", "ci_low", "ci_high"}
	if err := compare(filepath.Join(outDir, "timecourses.csv"), header, 3, want); err != nil {
		return err
	}
	return figure(outDir, "timecourses", 8)
}

// tQuantile finds t with P(T <= t) = p > 1/2 by Newton's method on the integral of the density.
func tQuantile(p float64, freedom int) float64 {
	v := float64(freedom)
	a, _ := math.Lgamma((v + 1) / 2)
	b, _ := math.Lgamma(v / 2)
	scale := math.Exp(a-b) / math.Sqrt(v*math.Pi)
	density := func(x float64) float64 { return scale * math.Pow(1+x*x/v, -(v+1)/2) }

	t := 1.0
	for range 60 {
		step := (0.5 + simpson(density, t) - p) / density(t)
		t -= step
		if math.Abs(step) < 1e-14*t {
			break
		}
	}
	return t
}

// simpson integrates f from 0 to end by Simpson's rule with 2,000 intervals.
func simpson(f func(float64) float64, end float64) float64 {
	const intervals = 2000
	width := end / intervals
	sum := f(0) + f(end)
	for i := 1; i < intervals; i++ {
		weight := 2.0
		if i%2 == 1 {
			weight = 4
		}
		sum += weight * f(float64(i)*width)
	}
	return sum * width / 3
}
