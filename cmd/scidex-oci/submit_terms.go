package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// termsOf reads what the flags of submit say of a job.
func termsOf(from layers) (j queue.Submission, err error) {
	j.Retries = queue.DefaultRetries
	if _, given := from.given("retries"); given {
		if j.Retries, err = from.count("retries", 0); err != nil {
			return j, err
		}
	}
	if in, given := from.given("class"); given {
		j.Class = in.text("class")
		if err := queue.ValidateClass(j.Class); err != nil {
			return j, fmt.Errorf("%s: %w", in.label("class"), err)
		}
	}
	if j.Require, err = labelsOf(from, "require"); err != nil {
		return j, err
	}
	if j.Priority, err = from.count("priority", 1); err != nil || j.Priority > 4 {
		in, _ := from.given("priority")
		return j, fmt.Errorf("%s %q: give 1 for the first to be taken, 2, 3, or 4 for the last", in.label("priority"), in.text("priority"))
	}
	if in, given := from.given("at"); given {
		if j.At, j.After, err = startOf(in.text("at")); err != nil {
			return j, fmt.Errorf("%s %w", in.label("at"), err)
		}
	}
	j.Unique, err = from.on("unique")
	return j, err
}

// startOf reads a time, or after a plus how long from now, which the database's clock counts.
func startOf(text string) (at time.Time, after time.Duration, err error) {
	now := time.Now()
	length, relative := strings.CutPrefix(text, "+")
	then, ok := parseTime(length, now) // lengths are those before now
	_, lengthErr := time.ParseDuration(length)
	isLength := lengthErr == nil || days().MatchString(length)
	switch {
	case !ok || relative != isLength:
		return at, 0, fmt.Errorf("%q: give a time as 2026-01-31T12:00:00Z, a date as 2026-01-31, or how long from now as +2h or +7d", text)
	case relative:
		return at, now.Sub(then), nil
	}
	return then, 0, nil
}
