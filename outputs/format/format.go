// Package format makes text for people: quantities, lines that are safe on a terminal whatever a program wrote, and
// words as a POSIX shell reads them. It is pure.
package format

import (
	"fmt"
	"time"

	"github.com/docker/go-units"
)

// Size shows bytes in powers of 1024, as limits are given.
func Size(bytes int64) string { return units.BytesSize(float64(bytes)) }

// Duration shows milliseconds in the largest units.
func Duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return d.String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// ShortDigest is the start of a digest, enough for a person to compare.
func ShortDigest(sha256 string) string { return sha256[:min(len(sha256), 12)] }

// Count is a number and what it counts: "1 process", "2 processes".
func Count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
