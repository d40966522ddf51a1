package main

import (
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/runner/check/doctor"
)

// findingLines prints what doctor found for a person.
type findingLines struct {
	w       io.Writer
	palette screen.Palette
}

func (l findingLines) report(r doctor.Report) {
	for _, f := range r.Findings {
		l.finding(f)
	}
	l.summary(r)
}

// codeWidth is the width of the longest code that is commonly shown.
const codeWidth = 34

func (l findingLines) finding(f doctor.Finding) {
	if f.Status == doctor.Skipped {
		if f.After != "" { // what nobody needs here is left out
			fmt.Fprintf(l.w, "%s  %-*s after %s\n", l.word(f.Status), codeWidth, screen.Escape(f.Code), screen.Escape(f.After))
		}
		return
	}
	fmt.Fprintf(l.w, "%s  %-*s %s\n", l.word(f.Status), codeWidth, screen.Escape(f.Code), screen.Escape(f.Seen))
	if f.Status == doctor.OK {
		return
	}
	l.more("means", f.Means)
	l.more("cure", f.Cure)
	l.more("command", l.palette.Bold(screen.Escape(f.Command)))
}

func (l findingLines) more(word, text string) {
	if text != "" {
		fmt.Fprintf(l.w, "%9s%-8s %s\n", "", word, text)
	}
}

// word is a status in a column of its own, as wide as the longest.
func (l findingLines) word(s doctor.Status) string {
	return l.palette.Outcome(string(s), string(doctor.OK), string(doctor.Fail), 7)
}

// summary says what it comes to for runs.
func (l findingLines) summary(r doctor.Report) {
	text := l.palette.Green(screen.Escape(r.Summary.Run))
	if !r.Works {
		text = l.palette.Red(screen.Escape(r.Summary.Run))
	}
	fmt.Fprintln(l.w, text)
	fmt.Fprintf(l.w, "limits: %s; ids: %s; unix sockets in bound directories: %s\n",
		rungs[r.Summary.Limits], idsOf(r.Summary), walls[r.Summary.SocketWall])
}

var rungs = map[doctor.Rung]string{
	doctor.RungSystemd:    "the kernel's, in a scope that systemd gives (cgroup v2)",
	doctor.RungDelegated:  "the kernel's, in a delegated subtree (cgroup v2)",
	doctor.RungV1:         "the kernel's, as root (cgroup v1)",
	doctor.RungOuter:      "left to the control groups around this",
	doctor.RungBestEffort: "best effort, by rlimits and the clock",
	doctor.RungNone:       "nobody can hold them",
}

var walls = map[string]string{
	"overlay": "out of reach behind an overlay",
	"scan":    "looked for before the start",
	"none":    "unknown",
}

func idsOf(s doctor.Summary) string {
	switch s.IDs {
	case "range":
		return fmt.Sprintf("their own, on the host from %d", s.UIDOnHost)
	case "self":
		return fmt.Sprintf("the caller's, on the host %d", s.UIDOnHost)
	}
	return "none"
}
