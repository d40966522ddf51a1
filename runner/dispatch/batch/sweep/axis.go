package sweep

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Axis is a parameter and its values: a list, or a range, which is not held.
type Axis struct {
	Name   string
	values []string // nil: a range
	from   int64
	step   int64
	length int
}

// maxValue bounds a value in bytes, as that of a label.
const maxValue = 256

// axisForm is that of a name of a flag and a label; rangeForm is a..b or a..b..step.
var (
	axisForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`) })
	rangeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([^,]*?)\.\.([^,]*?)(?:\.\.([^,]*))?$`) })
)

// ParseAxis reads NAME=VALUES: a list, as 0.1,0.01, or a range of integers with both ends, as 0..199 or 0..100..10.
func ParseAxis(text string) (Axis, error) {
	name, values, ok := strings.Cut(text, "=")
	switch {
	case !ok || values == "":
		return Axis{}, errors.New("no values; give NAME=VALUES, as seed=0..199 or lr=0.1,0.01")
	case name == Label:
		return Axis{}, errors.New(`the label "sweep" has the name of the sweep; name the parameter otherwise`)
	case !axisForm().MatchString(name):
		return Axis{}, errors.New("the name becomes a flag and a label; give a letter, then at most 62 letters, digits, '_' or '-'")
	}
	if m := rangeForm().FindStringSubmatch(values); m != nil {
		return parseRange(name, m[1], m[2], m[3])
	}
	return parseList(name, values)
}

func parseList(name, values string) (Axis, error) {
	axis := Axis{Name: name, values: strings.Split(values, ",")}
	axis.length = len(axis.values)
	seen := map[string]bool{}
	for _, value := range axis.values {
		switch {
		case value == "":
			return axis, errors.New("a value is empty; give values with one comma between two")
		case len(value) > maxValue || !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
			return axis, fmt.Errorf("the value %.40q cannot be a label; give at most %d bytes of UTF-8 without control characters", value, maxValue)
		case seen[value]:
			return axis, fmt.Errorf("the value %q is given twice; leave one out", value)
		}
		seen[value] = true
	}
	return axis, nil
}

// maxEnd bounds the ends of a range, so that their distance is a number, too.
const maxEnd = 1 << 53

func parseRange(name, first, last, by string) (Axis, error) {
	var ends [3]int64
	for i, text := range []string{first, last, by} {
		if i == 2 && by == "" {
			text = "1"
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n > maxEnd || n < -maxEnd {
			return Axis{}, fmt.Errorf("%q is no integer for a range; give FIRST..LAST or FIRST..LAST..STEP, or a list with commas", text)
		}
		ends[i] = n
	}
	from, to, step := ends[0], ends[1], ends[2]
	if step == 0 || (to-from)*sign(step) < 0 {
		return Axis{}, fmt.Errorf("the range does not get from %d to %d by %d; give another step, as %d..%d..-1", from, to, step, max(from, to), min(from, to))
	}
	n := (to-from)/step + 1
	if n > MaxLines {
		return Axis{}, fmt.Errorf("the range has %d values, and a sweep at most %d lines; give a larger step, or split the sweep", n, MaxLines)
	}
	return Axis{Name: name, from: from, step: step, length: int(n)}, nil
}

func sign(n int64) int64 {
	if n < 0 {
		return -1
	}
	return 1
}

// Len is how many values there are.
func (a Axis) Len() int { return a.length }

// At is value i, from 0.
func (a Axis) At(i int) string {
	if a.values != nil {
		return a.values[i]
	}
	return strconv.FormatInt(a.from+int64(i)*a.step, 10)
}
