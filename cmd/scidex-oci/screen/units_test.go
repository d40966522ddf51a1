package screen

import (
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/observe/event"
)

func TestStatusLine(t *testing.T) {
	tests := []struct {
		id    string
		usage event.Usage
		want  string
	}{
		{"a", event.Usage{ElapsedMS: 61_500, CPUMS: 95_000, MemoryBytes: 53 << 20, Processes: 3}, "a  1:01  cpu 1:35  memory 53MiB  processes 3"},
		{"a", event.Usage{ElapsedMS: 3_601_000, Suspended: true}, "a  1:00:01  cpu 0:00  memory 0B  processes 0  suspended"},
		{"a\x1b[2J", event.Usage{}, `a\x1b[2J  0:00  cpu 0:00  memory 0B  processes 0`},
	}
	for _, test := range tests {
		if got := StatusLine(test.id, test.usage); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
