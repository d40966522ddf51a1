package replay

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// around is how many bytes before and after a difference are compared.
const around = 40

// guess guesses from the first difference of two texts why they differ; "" where unknown.
func guess(x, y []byte, from, to Run) (Hint, string) {
	at := firstDifference(x, y)
	if at < 0 {
		return "", ""
	}
	if shuffled(x, y) {
		return Threads, "the same lines in another order: of threads or processes that end by chance, or of a directory's names"
	}
	a, b := token(x, at), token(y, at)
	shown := fmt.Sprintf("%q, then %q", format.Cut(a, 32), format.Cut(b, 32))
	switch {
	case dated(x, at) && dated(y, at), clocked(a, from) && clocked(b, to):
		return TimeStamp, "a time: " + shown
	case near(a, b):
		return Threads, "the last digits of a number, as sums in another order have them: " + shown
	case numeric(a) && numeric(b), hexadecimal(a) && hexadecimal(b):
		return Random, "another number: " + shown
	}
	return "", ""
}

// shuffled reports whether two texts have the same lines in another order.
func shuffled(x, y []byte) bool {
	if len(x) != len(y) || bytes.Count(x, []byte{'\n'}) < 2 || bytes.Count(x, []byte{'\n'}) != bytes.Count(y, []byte{'\n'}) {
		return false
	}
	return slices.EqualFunc(sortedLines(x), sortedLines(y), bytes.Equal)
}

func sortedLines(text []byte) [][]byte {
	lines := bytes.Split(text, []byte{'\n'})
	slices.SortFunc(lines, bytes.Compare)
	return lines
}

// token is the word around a position: letters, digits and what numbers are written with.
func token(text []byte, at int) string {
	begin, end := min(at, len(text)), min(at, len(text))
	for begin > 0 && at-begin < around && inWord(text[begin-1]) {
		begin--
	}
	for end < len(text) && end-at < around && inWord(text[end]) {
		end++
	}
	return string(text[begin:end])
}

func inWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '.' || c == '-' || c == '+'
}

// moment matches dates and times: ISO 8601 and its parts, asctime(3), RFC 5322, PDF's and EXIF's.
func moment() *regexp.Regexp {
	return regexp.MustCompile(`\d{4}[-:/]\d{2}[-:/]\d{2}|\d{1,2}:\d{2}(:\d{2})?|\d{8}T\d{4,6}|D:\d{14}` +
		`|(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* +\d{1,2}|\d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)`)
}

// dated reports whether an offset is in a date or time, or in what follows one, such as fractions of a second.
func dated(text []byte, at int) bool {
	begin, end := max(0, at-around), min(len(text), at+around)
	for _, span := range moment().FindAllIndex(text[begin:end], -1) {
		last := begin + span[1]
		for last < len(text) && inWord(text[last]) {
			last++
		}
		if begin+span[0] <= at && at < last {
			return true
		}
	}
	return false
}

// clocked reports whether a number is the time of a run, in Unix seconds or thousandths, millionths or billionths of it.
func clocked(text string, run Run) bool {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return false
	}
	const slack = 10 * time.Second
	for _, unit := range []float64{1, 1e3, 1e6, 1e9} {
		seconds := number / unit
		if seconds >= float64(run.Started.Add(-slack).Unix()) && seconds <= float64(run.Ended.Add(slack).Unix()) {
			return true
		}
	}
	return false
}

// near reports whether two numbers differ only as sums in another order do.
func near(a, b string) bool {
	const most = 1e-6 // of the greater
	x, err := strconv.ParseFloat(a, 64)
	y, other := strconv.ParseFloat(b, 64)
	if err != nil || other != nil || !bytes.ContainsAny([]byte(a+b), ".eE") {
		return false
	}
	return math.Abs(x-y) <= most*math.Max(math.Abs(x), math.Abs(y))
}

func numeric(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// hexadecimal reports whether a text looks like a random number; a short one may be a word.
func hexadecimal(text string) bool {
	digits := 0
	for _, c := range []byte(text) {
		switch {
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
			digits++
		case c != '-':
			return false
		}
	}
	return digits >= 8
}
