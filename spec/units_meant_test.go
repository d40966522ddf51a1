package spec

import (
	"strings"
	"testing"
)

func TestMeantUnits(t *testing.T) {
	size := func(s string) error { _, err := ParseSize(s); return err }
	duration := func(s string) error { _, err := ParseDuration(s); return err }
	tests := []struct {
		parse       func(string) error
		given, want string // "": nothing is meant
	}{
		{size, "2,5G", "2.5GiB"},
		{size, "2Gigs", "2GiB"},
		{size, "512 megabytes", "512MiB"},
		{size, "2gibibytes", "2GiB"},
		{size, "1,024M", ""},
		{size, "0,0G", ""},
		{size, "5min", ""},
		{size, "12Q", ""},
		{duration, "5min", "5m"},
		{duration, "1 day", "1d"},
		{duration, "1.5 days", "1.5d"},
		{duration, "2 weeks", "14d"},
		{duration, "90 secs", "90s"},
		{duration, "2,5h", "2.5h"},
		{duration, "1h 30m", "1h30m"},
		{duration, "5M", "5m"},
		{duration, "1hour", "1h"},
		{duration, "0d", ""},
		{duration, "0s", ""},
		{duration, "-5m", ""},
		{duration, "999999999999999999d", ""},
	}
	for _, tt := range tests {
		err := tt.parse(tt.given)
		_, meant, found := strings.Cut(err.Error(), "; did you mean ")
		if found != (tt.want != "") || found && meant != tt.want+"?" {
			t.Errorf("%q: %v, want %q", tt.given, err, tt.want)
			continue
		}
		if found && tt.parse(tt.want) != nil {
			t.Errorf("%q: %q is refused too", tt.given, tt.want)
		}
	}
}
