package main

import (
	"fmt"
	"time"

	"github.com/docker/go-units"

	"github.com/scidex-ai/scidex-oci/runner/observe/event"
)

// statusLine is what stands on the terminal while a run goes on.
func statusLine(id string, u event.Usage) string {
	line := fmt.Sprintf("%s  %s  cpu %s  memory %s  processes %d", escape(id), clock(u.ElapsedMS), clock(u.CPUMS), size(u.MemoryBytes), u.Processes)
	if u.Suspended {
		line += "  suspended"
	}
	return line
}

// scanLine stands there while a directory is looked through before the start.
func scanLine(flag string, entries int64) string {
	return fmt.Sprintf("looking for sockets in %s  %d entries so far", flag, entries)
}

// clock shows milliseconds as m:ss or h:mm:ss.
func clock(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	if h > 0 {
		return fmt.Sprintf("%d:%02d:%02d", h, m, s)
	}
	return fmt.Sprintf("%d:%02d", m, s)
}

// size shows bytes in powers of 1024, as limits are given.
func size(bytes int64) string { return units.BytesSize(float64(bytes)) }

// span shows milliseconds for a person.
func span(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return d.String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
