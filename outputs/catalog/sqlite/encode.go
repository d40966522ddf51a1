package sqlite

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/row"
)

// layout has a fixed width and is always UTC, so that texts sort as times.
const layout = "2006-01-02T15:04:05.000Z"

// timeText returns NULL for the zero time.
func timeText(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(layout)
}

func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(layout, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("time in the catalog: %w", err)
	}
	return t, nil
}

// text replaces invalid UTF-8: the columns are text in every dialect, and a message must not prevent a commit.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func orNull(s string) any { return row.TextOrNull(s, text) }

func jsonOrNull(document json.RawMessage) any {
	if len(document) == 0 {
		return nil
	}
	return string(document)
}

// label is how a person names a run: ID@ATTEMPT.
func label(key catalog.Key) string {
	return catalog.Name{ID: key.ID, Attempt: key.Attempt}.String()
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
