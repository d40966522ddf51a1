package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

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
		quoted = append(quoted, format.ShellQuote(word))
	}
	return strings.Join(quoted, " ")
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
