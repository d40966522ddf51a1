package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
)

// Size shows a number of bytes, as pages do.
func Size(bytes int64) string { return size(bytes) }

// Span formats a duration in milliseconds, as pages do.
func Span(ms int64) string { return span(ms) }

func size(bytes int64) string { return units.BytesSize(float64(bytes)) }

// span shows milliseconds.
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

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// short is the start of a digest, for people to compare.
func short(sha256 string) string { return sha256[:min(len(sha256), 12)] }

// utc formats a time, independent of the reader's zone.
func utc(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// words quotes a command line for a POSIX shell.
func words(list []string) string {
	var quoted []string
	for _, word := range list {
		quoted = append(quoted, shellWord(word))
	}
	return strings.Join(quoted, " ")
}

func shellWord(text string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%"
	if text != "" && strings.Trim(text, safe) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// percent shows a share of one.
func percent(share float64) string {
	switch p := 100 * share; {
	case p > 0 && p < 0.1:
		return "< 0.1 %"
	case p < 10:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	default:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	}
}
