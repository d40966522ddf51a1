package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Size is an amount of memory or storage in bytes. Its JSON form is the number of bytes.
type Size int64

// Binary multiples of a byte.
const (
	KiB Size = 1 << (10 * (iota + 1))
	MiB
	GiB
	TiB
	PiB
)

// Duration is a length of time. Its JSON form is a string such as "1h30m".
type Duration time.Duration

var (
	sizeForm     = pattern(`^([0-9]+(?:\.[0-9]+)?) ?(?:([kmgtpe])i?)?b?$`)
	secondsForm  = pattern(`^[0-9]+(?:\.[0-9]+)?$`)
	durationForm = pattern(`^(?:[0-9]+(?:\.[0-9]+)?(?:ms|[dhms]))+$`)
	daysForm     = pattern(`[0-9]+(?:\.[0-9]+)?d`)
)

// ParseSize parses a number of bytes ("1048576") or a number with a unit ("512MiB", "2g", "1.5 GiB"). Units are always
// binary, as in docker and podman: 2GB is 2GiB. Zero and sizes from 8 EiB on are refused.
func ParseSize(s string) (Size, error) {
	form := sizeForm().FindStringSubmatch(strings.ToLower(strings.TrimSpace(s)))
	if form == nil {
		return 0, badSize(s)
	}
	number, _ := strconv.ParseFloat(form[1], 64) // too many digits make it infinite
	bytes := math.Ldexp(number, 10*strings.Index(" kmgtpe", form[2]))
	switch {
	case bytes < 1:
		return 0, badSize(s)
	case bytes >= math.MaxInt64:
		return 0, fmt.Errorf("%s is too large: write a size below 8EiB, such as 512MiB or 2GiB", quote(s))
	}
	return Size(bytes), nil
}

func badSize(s string) error {
	return fmt.Errorf("%s is no size above zero: write a number of bytes or a number with a unit, such as 512MiB or 2GiB%s", quote(s), meantSize(s))
}

// ParseDuration parses "30m", "90s", "1h30m", "250ms", "2d" or a bare number of seconds. Zero and negative values are refused.
func ParseDuration(s string) (Duration, error) {
	text := strings.TrimSpace(s)
	if secondsForm().MatchString(text) {
		text += "s"
	}
	if !durationForm().MatchString(text) {
		return 0, badDuration(s)
	}
	d, err := time.ParseDuration(daysForm().ReplaceAllStringFunc(text, inHours))
	switch {
	case err != nil: // the form is right
		return 0, fmt.Errorf("%s is too long: write a time such as 90s or 1h30m", quote(s))
	case d <= 0:
		return 0, badDuration(s)
	}
	return Duration(d), nil
}

// inHours writes a number of days ("2d"), each of 24 hours, as hours.
func inHours(days string) string {
	number, _ := strconv.ParseFloat(strings.TrimSuffix(days, "d"), 64) // too many digits make it infinite, which is too long
	return strconv.FormatFloat(24*number, 'f', -1, 64) + "h"
}

func badDuration(s string) error {
	return fmt.Errorf("%s is no time above zero: write a number of seconds or a number with ms, s, m, h or d, such as 90s or 1h30m%s", quote(s), meantDuration(s))
}

// ParseCPUs parses a number of cores such as "2" or "0.5"; see Validate for bounds.
func ParseCPUs(s string) (float64, error) {
	cpus, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !secondsForm().MatchString(strings.TrimSpace(s)) {
		return 0, badCPUs(quote(s))
	}
	return cpus, checkCPUs(cpus)
}

// parsePids parses a number of processes and threads; see Validate for bounds.
func parsePids(s string) (int64, error) {
	pids, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil {
		return 0, badPids(quote(s))
	}
	return pids, checkPids(pids)
}

// parseWorkFiles parses a number of files; see Validate for bounds.
func parseWorkFiles(s string) (int64, error) {
	files, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil {
		return 0, badWorkFiles(quote(s))
	}
	return files, checkWorkFiles(files)
}

// String returns the size in the largest exact binary unit: "2GiB", "1536MiB", "1000B".
func (s Size) String() string {
	for i, unit := range []Size{PiB, TiB, GiB, MiB, KiB} {
		if s != 0 && s%unit == 0 {
			return fmt.Sprintf("%d%ciB", s/unit, "PTGMK"[i])
		}
	}
	return fmt.Sprintf("%dB", int64(s))
}

// UnmarshalJSON accepts a number of bytes or a string for ParseSize.
func (s *Size) UnmarshalJSON(data []byte) error {
	text, err := numberOrString(data)
	if err != nil {
		return err
	}
	*s, err = ParseSize(text)
	return err
}

// UnmarshalYAML accepts what UnmarshalJSON accepts.
func (s *Size) UnmarshalYAML(node *yaml.Node) (err error) {
	if node.Kind != yaml.ScalarNode {
		return badSize(kindOf(node))
	}
	*s, err = ParseSize(node.Value)
	return err
}

// String returns the duration without zero parts: "30m", "1h30m", "1.5s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalJSON writes String's form.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON accepts a number of seconds or a string for ParseDuration.
func (d *Duration) UnmarshalJSON(data []byte) error {
	text, err := numberOrString(data)
	if err != nil {
		return err
	}
	*d, err = ParseDuration(text)
	return err
}

// UnmarshalYAML accepts what UnmarshalJSON accepts.
func (d *Duration) UnmarshalYAML(node *yaml.Node) (err error) {
	if node.Kind != yaml.ScalarNode {
		return badDuration(kindOf(node))
	}
	*d, err = ParseDuration(node.Value)
	return err
}

// numberOrString returns the text of a JSON number or string.
func numberOrString(data []byte) (string, error) {
	if len(data) > 0 && data[0] != '"' {
		var number json.Number
		if err := json.Unmarshal(data, &number); err != nil || number == "" {
			return "", errors.New(quote(string(data)) + " is neither a number nor a string")
		}
		return number.String(), nil
	}
	var text string
	err := json.Unmarshal(data, &text)
	return text, err
}
