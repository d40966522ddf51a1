package plan

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// ParseFloor parses "5%", "2GiB" or the like, or "0" for no floor.
func ParseFloor(s string) (freespace.Floor, error) {
	if s == "0" || s == "0%" {
		return freespace.Floor{}, nil
	}
	if form := regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)%$`).FindStringSubmatch(s); form != nil {
		percent, err := strconv.ParseFloat(form[1], 64)
		if err == nil && percent > 0 && percent < 100 {
			return freespace.Floor{Percent: percent}, nil
		}
	} else if size, err := spec.ParseSize(s); err == nil {
		return freespace.Floor{Bytes: int64(size)}, nil
	}
	return freespace.Floor{}, fmt.Errorf("%q is no free space to keep: write a percentage below 100 such as 5%%, a size such as 2GiB, or 0 for none", s)
}

// DefaultFloor is the smaller of 5 % and 2 GiB: of a large disk, 5 % is more than runs could fill before they are ended.
func DefaultFloor() freespace.Floor { return freespace.Floor{Percent: 5, Most: 2 << 30} }

// FormatFloor writes what ParseFloor reads, and for people the bound of a share.
func FormatFloor(f freespace.Floor) string {
	switch {
	case f.Percent > 0 && f.Most > 0:
		return fmt.Sprintf("%g%% (at most %s)", f.Percent, spec.Size(f.Most))
	case f.Percent > 0:
		return strconv.FormatFloat(f.Percent, 'g', -1, 64) + "%"
	case f.Bytes > 0:
		return spec.Size(f.Bytes).String()
	}
	return "0"
}
