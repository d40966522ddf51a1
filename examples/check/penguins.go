package check

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Penguins compares measurements.csv in outDir with statistics computed from penguins.csv in dataDir,
// and looks at boxplot.svg or boxplot.png.
func Penguins(dataDir, outDir string) error {
	rows, err := readCSV(filepath.Join(dataDir, "penguins.csv"))
	if err != nil {
		return err
	}
	values, missing := map[string][]float64{}, map[string]float64{}
	for _, row := range rows[1:] {
		sex := strings.ToLower(row[6])
		if sex == "" {
			sex = "unknown"
		}
		for column := 2; column <= 5; column++ {
			group := key(row[0], sex, rows[0][column])
			if row[column] == "" {
				missing[group]++
				continue
			}
			value, err := strconv.ParseFloat(row[column], 64)
			if err != nil {
				return fmt.Errorf("penguins.csv: %w", err)
			}
			values[group] = append(values[group], value)
		}
	}
	want := table{}
	for group, all := range values {
		want[group] = statistics(all, missing[group])
	}
	header := []string{"species", "sex", "measure", "n", "missing", "mean", "sd", "median", "q1", "q3", "min", "max"}
	if err := compare(filepath.Join(outDir, "measurements.csv"), header, 3, want); err != nil {
		return err
	}
	return figure(outDir, "boxplot", 24)
}

func statistics(values []float64, missing float64) []float64 {
	slices.Sort(values)
	mean, sd := moments(values)
	return []float64{
		float64(len(values)), missing, mean, sd,
		quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75), values[0], values[len(values)-1],
	}
}

// quantile interpolates between sorted values (type 7 of Hyndman and Fan 1996).
func quantile(sorted []float64, p float64) float64 {
	whole, part := math.Modf(p * float64(len(sorted)-1))
	i := int(whole)
	if part == 0 {
		return sorted[i]
	}
	return (1-part)*sorted[i] + part*sorted[i+1]
}
