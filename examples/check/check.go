// Package check recomputes the numbers of the examples from their data and compares them with what the
// scripts wrote. It takes other roads than the scripts: running sums instead of two passes, sorting
// instead of a library's quantiles, numerical integration instead of finite sums.
package check

import (
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Numbers are compared to 1e-9 of their size; those that are close to zero by cancellation, to 1e-12.
const (
	relative = 1e-9
	absolute = 1e-12
)

// table holds the expected numbers of a CSV file by its key columns, joined by a space.
type table map[string][]float64

func key(columns ...string) string { return strings.Join(columns, " ") }

// compare demands that the CSV file has exactly this header, exactly the rows of want, whose keys are
// its first columns, and numbers that agree.
func compare(path string, header []string, keys int, want table) error {
	rows, err := readCSV(path)
	if err != nil {
		return err
	}
	name := filepath.Base(path)
	if len(rows) == 0 || !slices.Equal(rows[0], header) {
		return fmt.Errorf("%s: header %q, want %q", name, rows[:min(1, len(rows))], header)
	}
	if len(rows)-1 != len(want) {
		return fmt.Errorf("%s: %d rows, want %d", name, len(rows)-1, len(want))
	}
	seen := map[string]bool{}
	for _, row := range rows[1:] {
		k := key(row[:keys]...)
		numbers, ok := want[k]
		if !ok || seen[k] {
			return fmt.Errorf("%s: unexpected or repeated row %q", name, k)
		}
		seen[k] = true
		if err := compareRow(row[keys:], numbers); err != nil {
			return fmt.Errorf("%s: row %q: column %w", name, k, err)
		}
	}
	return nil
}

func compareRow(got []string, want []float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("count %d, want %d", len(got), len(want))
	}
	for i, text := range got {
		number, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%d: %w", i+1, err)
		}
		// Written so that not-a-number is never close.
		if !(math.Abs(number-want[i]) <= max(absolute, relative*math.Abs(want[i]))) {
			return fmt.Errorf("%d: %s, want %.12g", i+1, text, want[i])
		}
	}
	return nil
}

// figure looks at the picture of this name in a directory, which is an SVG file or a PNG file.
func figure(dir, name string, shapes int) error {
	if path := filepath.Join(dir, name+".png"); exists(path) {
		return raster(path, shapes)
	}
	return picture(filepath.Join(dir, name+".svg"), shapes)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// raster demands a whole PNG file that is large enough for a person and has at least so many colours.
func raster(path string, colours int) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	drawn, err := png.Decode(file)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	seen := map[color.Color]bool{}
	size := drawn.Bounds()
	for x := size.Min.X; x < size.Max.X; x++ {
		for y := size.Min.Y; y < size.Max.Y; y++ {
			seen[drawn.At(x, y)] = true
		}
	}
	if size.Dx() < 600 || size.Dy() < 400 || len(seen) < colours {
		return fmt.Errorf("%s: %v with %d colours, want at least 600 by 400 with %d", filepath.Base(path), size.Size(), len(seen), colours)
	}
	return nil
}

// picture demands a well-formed SVG file with a title and at least so many shapes, without NaN.
func picture(path string, shapes int) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	name := filepath.Base(path)
	if strings.Contains(strings.ToLower(string(data)), "nan") {
		return fmt.Errorf("%s: holds a number that is none", name)
	}
	elements := map[string]int{}
	for decoder := xml.NewDecoder(strings.NewReader(string(data))); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if start, ok := token.(xml.StartElement); ok {
			elements[start.Name.Local]++
		}
	}
	drawn := elements["path"] + elements["rect"] + elements["circle"]
	if elements["svg"] != 1 || elements["title"] != 1 || drawn < shapes {
		return fmt.Errorf("%s: %d svg, %d title, %d shapes, want 1, 1, at least %d",
			name, elements["svg"], elements["title"], drawn, shapes)
	}
	return nil
}

func readCSV(path string) ([][]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return rows, nil
}

func parse(texts []string) ([]float64, error) {
	numbers := make([]float64, len(texts))
	for i, text := range texts {
		number, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		numbers[i] = number
	}
	return numbers, nil
}

// moments returns mean and sample standard deviation by Welford's running update.
func moments(values []float64) (mean, sd float64) {
	var squares float64
	for i, value := range values {
		step := value - mean
		mean += step / float64(i+1)
		squares += step * (value - mean)
	}
	return mean, math.Sqrt(squares / float64(len(values)-1))
}
