package screen

import (
	"fmt"
	"time"

	"github.com/docker/go-units"
)

// Clock shows milliseconds as m:ss or h:mm:ss.
func Clock(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	if h > 0 {
		return fmt.Sprintf("%d:%02d:%02d", h, m, s)
	}
	return fmt.Sprintf("%d:%02d", m, s)
}

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

// Rate formats a rate per second, or per minute where it is less than one.
func Rate(rate float64) string {
	if rate < 1 {
		return fmt.Sprintf("%.1f/min", rate*60)
	}
	return fmt.Sprintf("%.1f/s", rate)
}

// ShortDigest is the start of a digest, enough for a person to compare.
func ShortDigest(sha256 string) string { return sha256[:min(len(sha256), 12)] }

// LocalTime is the time in the local zone, in seconds.
func LocalTime(t time.Time) string { return t.Local().Format(time.RFC3339) }

// Count is n things: "no line", "one line", "3 lines".
func Count(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun
	case 1:
		return "one " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
