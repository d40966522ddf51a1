package event

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// TestReasonsOfTheSchema: the event exited has a reason of the analysis or a signal, or that it was not executed; those of what comes
// after the harvest are not known yet.
func TestReasonsOfTheSchema(t *testing.T) {
	data, err := os.ReadFile("../../../docs/schema/events.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs struct {
			Exited struct {
				Properties struct {
					Reason struct{ Enum []outcome.Reason }
				}
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	want := []outcome.Reason{"memory_limit", outcome.ReasonSandbox} // the first is of earlier programs
	for _, state := range []outcome.State{outcome.Failed, outcome.Canceled} {
		want = append(want, outcome.ReasonsOf(state)...)
	}
	want = slices.DeleteFunc(want, func(r outcome.Reason) bool { return r == outcome.ReasonOutputMissing })
	got := schema.Defs.Exited.Properties.Reason.Enum
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the schema has %q, want %q", got, want)
	}
}

// TestStream cuts bytes into events however they come: nothing is lost, no character is torn.
func TestStream(t *testing.T) {
	long := strings.Repeat("x€", logMax)
	for _, test := range []struct {
		written string
		limit   int64
		want    string
	}{
		{"", 10, ""},
		{"a\nb", 10, "a\nb"},
		{"abcdef", 4, "abcd"},
		{"€€", 4, "€\xe2"},
		{"\xff\xfe\x80€", 100, "\xff\xfe\x80€"},
		{"torn \xf0\x9f\x98", 100, "torn \xf0\x9f\x98"},
		{"torn \xe2", 100, "torn \xe2"},
		{long, 1 << 30, long},
		{"nothing", 0, ""},
	} {
		whole := utf8.ValidString(test.want)
		for _, step := range []int{1, 2, 3, 5, len(test.written) + 1} {
			var got []byte
			s := Stream{Limit: test.limit, Tell: func(offset int64, part []byte) {
				if offset != int64(len(got)) || len(part) == 0 || len(part) > logMax {
					t.Fatalf("%.20q by %d: %d bytes at %d after %d", test.written, step, len(part), offset, len(got))
				}
				if whole && !utf8.Valid(part) {
					t.Errorf("%.20q by %d: a torn character in %.20q", test.written, step, part)
				}
				got = append(got, part...)
			}}
			for rest := test.written; rest != ""; rest = rest[min(step, len(rest)):] {
				part := rest[:min(step, len(rest))]
				if n, err := s.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatalf("wrote %d, %v", n, err)
				}
			}
			if s.End(); string(got) != test.want {
				t.Errorf("%.20q by %d: got %.40q, want %.40q", test.written, step, got, test.want)
			}
		}
	}
}

// TestStreamKeepsNothingOfItsCaller writes twice from one buffer.
func TestStreamKeepsNothingOfItsCaller(t *testing.T) {
	var parts [][]byte
	s := Stream{Limit: 100, Tell: func(_ int64, part []byte) { parts = append(parts, part) }}
	buffer := []byte("one")
	_, _ = s.Write(buffer)
	copy(buffer, "two")
	_, _ = s.Write(buffer)
	if string(parts[0]) != "one" || string(parts[1]) != "two" {
		t.Errorf("%q", parts)
	}
}

func TestLogIsTextOrBase64(t *testing.T) {
	for part, want := range map[string]string{
		"é\n":  `{"attempt":2,"stream":"stdout","offset":7,"text":"é\n"}`,
		"\xff": `{"attempt":2,"stream":"stdout","offset":7,"base64":"/w=="}`,
	} {
		l := NewLog(2, "stdout", 7, []byte(part))
		if got, err := json.Marshal(l); err != nil || string(got) != want || l.Size() != len(part) {
			t.Errorf("%q: %s, %d, %v", part, got, l.Size(), err)
		}
	}
}
