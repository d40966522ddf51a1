package plan

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// ParseFloor parses "5%", "2GiB" or the like, or "0" for no floor.
func ParseFloor(s string) (sandbox.Floor, error) {
	if s == "0" || s == "0%" {
		return sandbox.Floor{}, nil
	}
	if form := regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)%$`).FindStringSubmatch(s); form != nil {
		percent, err := strconv.ParseFloat(form[1], 64)
		if err == nil && percent > 0 && percent < 100 {
			return sandbox.Floor{Percent: percent}, nil
		}
	} else if size, err := spec.ParseSize(s); err == nil {
		return sandbox.Floor{Bytes: int64(size)}, nil
	}
	return sandbox.Floor{}, fmt.Errorf("%q is no free space to keep: write a percentage below 100 such as 5%%, a size such as 2GiB, or 0 for none", s)
}

// FormatFloor writes what ParseFloor reads.
func FormatFloor(f sandbox.Floor) string {
	switch {
	case f.Percent > 0:
		return strconv.FormatFloat(f.Percent, 'g', -1, 64) + "%"
	case f.Bytes > 0:
		return spec.Size(f.Bytes).String()
	}
	return "0"
}
