package sqlite

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// layout has one width and is always UTC, so that the order of the texts is the order of the times.
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

// orNull returns NULL for an empty text. What is not UTF-8 is replaced: the columns are text in every
// dialect, and a message must not keep a run from being committed.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

func jsonOrNull(document json.RawMessage) any {
	if len(document) == 0 {
		return nil
	}
	return string(document)
}

// bytesOrNull returns NULL for no bytes.
func bytesOrNull(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

// notNull returns an empty value for nil, which the driver would store as NULL.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func numberOrNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// label is how a person names a run: ID@ATTEMPT.
func label(key catalog.Key) string {
	return catalog.Name{ID: key.ID, Attempt: key.Attempt}.String()
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
