package plan

import (
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
)

func TestParseFloor(t *testing.T) {
	for text, want := range map[string]freespace.Floor{
		"5%": {Percent: 5}, "0.5%": {Percent: 0.5}, "2GiB": {Bytes: 2 << 30}, "1024": {Bytes: 1024}, "0": {}, "0%": {},
	} {
		got, err := ParseFloor(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if back, err := ParseFloor(FormatFloor(got)); err != nil || back != got {
			t.Errorf("%q is shown as %q", text, FormatFloor(got))
		}
	}
	for _, text := range []string{"", "100%", "-1%", "%", "5 %", "NaN%", "1e1%", "all", "-5"} {
		if got, err := ParseFloor(text); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestDefaultFloor(t *testing.T) {
	if got := FormatFloor(DefaultFloor()); got != "5% (at most 2GiB)" {
		t.Errorf("%q", got)
	}
}
