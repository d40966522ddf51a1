package screen

import (
	"fmt"
	"time"
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

// Rate formats a rate per second, or per minute if it is less than one.
func Rate(rate float64) string {
	if rate < 1 {
		return fmt.Sprintf("%.1f/min", rate*60)
	}
	return fmt.Sprintf("%.1f/s", rate)
}

// LocalTime is the time in the local zone, in seconds.
func LocalTime(t time.Time) string { return t.Local().Format(time.RFC3339) }
