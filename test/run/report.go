package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// report prints what failed and how to repeat it, keeps the logs and the times, and returns the exit code.
func report(o options, all []ended) int {
	if err := writeTimes(o.times, all); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
	}
	var failed []string
	for _, e := range all {
		if e.skip {
			fmt.Fprintf(os.Stderr, "skipped: %s: %s\n", e.name, reason(e.output))
		}
		if e.err == nil {
			continue
		}
		failed = append(failed, e.name)
		fmt.Fprintf(os.Stderr, "--- %s: %v\n%s\n", e.name, e.err, e.output)
		if path, err := keep(o.logs, e); err != nil {
			fmt.Fprintln(os.Stderr, "run:", err)
		} else if path != "" {
			fmt.Fprintln(os.Stderr, "kept in", path)
		}
	}
	var cpu time.Duration
	for _, e := range all {
		cpu += e.cpu
	}
	fmt.Fprintf(os.Stderr, "%d tests, %.0f processor seconds, seed %d\n", len(all), cpu.Seconds(), o.seed)
	if len(failed) == 0 {
		return 0
	}
	slices.Sort(failed)
	failed = slices.Compact(failed)
	fmt.Fprintf(os.Stderr, "FAILED: %s\n", strings.Join(failed, " "))
	fmt.Fprintf(os.Stderr, "to repeat: %s --run '^(%s)$' --seed %d\n", o.repeat, strings.Join(failed, "|"), o.seed)
	return 1
}

// reason returns why a test was skipped: the line above its verdict.
func reason(output []byte) string {
	before := ""
	for line := range strings.Lines(string(output)) {
		if strings.HasPrefix(line, "--- SKIP: ") && before != "" {
			return strings.TrimSpace(before)
		}
		before = line
	}
	return "it does not say why"
}

// keep writes the output of a test that failed to a file of its own.
func keep(dir string, e ended) (string, error) {
	if dir == "" {
		return "", nil
	}
	path := filepath.Join(dir, e.name+".log")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, fmt.Appendf(e.output, "%v\n", e.err), 0o600)
}

// writeTimes writes a line for each test, the most expensive first: processor seconds, seconds, name.
func writeTimes(path string, all []ended) error {
	if path == "" {
		return nil
	}
	byCost := slices.SortedFunc(slices.Values(all), func(a, b ended) int { return int(b.cpu - a.cpu) })
	var text strings.Builder
	for _, e := range byCost {
		fmt.Fprintf(&text, "%.1f %.1f %s\n", e.cpu.Seconds(), e.wall.Seconds(), e.name)
	}
	return os.WriteFile(path, []byte(text.String()), 0o600)
}
