package spec

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{
		"1": 1, "1b": 1, "2GiB": 2 * GiB, "2g": 2 * GiB, "2GB": 2 * GiB, "512MiB": 512 * MiB, "512m": 512 * MiB, "512Mi": 512 * MiB,
		"1.5 GiB": 1536 * MiB, " 4k ": 4 * KiB, "1T": TiB, "1EiB": 1024 * PiB, "7PiB": 7 * PiB, "2147483648": 2 * GiB, "0.5k": 512,
	} {
		got, err := ParseSize(text)
		if err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "0", "-1", "-2GiB", "NaN", "Inf", "+1", "1e9", "0x10", "2 3", "2GiBs", "GiB", "1.", ".5", "0.1", "1,5G", "8192PiB",
		"99999999999999999999", "2gg", "2Gi b", "2\x00", strings.Repeat("9", 400),
	} {
		got, err := ParseSize(text)
		if err == nil {
			t.Errorf("ParseSize(%q) = %d; want an error", text, got)
		} else if !strings.Contains(err.Error(), "such as 512MiB") {
			t.Errorf("ParseSize(%q): %v; want the way out", text, err)
		}
	}
}

func TestTooLarge(t *testing.T) {
	for _, text := range []string{"8EiB", "8192PiB", "99999999999999999999", strings.Repeat("9", 400)} {
		if _, err := ParseSize(text); err == nil || !strings.Contains(err.Error(), "is too large: ") {
			t.Errorf("ParseSize(%q): %v", text, err)
		}
	}
	for _, text := range []string{"99999999h", "99999999d", strings.Repeat("9", 400)} {
		if _, err := ParseDuration(text); err == nil || !strings.Contains(err.Error(), "is too long: ") {
			t.Errorf("ParseDuration(%q): %v", text, err)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30m": 30 * time.Minute, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "90": 90 * time.Second, "0.5": 500 * time.Millisecond,
		"250ms": 250 * time.Millisecond, "1.5h": 90 * time.Minute, " 5s ": 5 * time.Second,
		"2d": 48 * time.Hour, "1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour,
	} {
		got, err := ParseDuration(text)
		if err != nil || time.Duration(got) != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "0s", "-5s", "-1", "5 s", "0d", "5w", "d", "NaN", "Inf", "1e3", "5us", "s", "99999999h", "1h 2m"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("ParseDuration(%q) = %v; want an error", text, got)
		}
	}
}

func TestParseCPUs(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "0.5": 0.5, "0.01": 0.01, "4096": 4096, " 2 ": 2} {
		if got, err := ParseCPUs(text); err != nil || got != want {
			t.Errorf("ParseCPUs(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "NaN", "Inf", "-Inf", "0.009", "4096.1", "1e2", "1 core", "0x1p2"} {
		if got, err := ParseCPUs(text); err == nil {
			t.Errorf("ParseCPUs(%q) = %v; want an error", text, got)
		}
	}
}

func TestParsePids(t *testing.T) {
	for text, want := range map[string]int64{"2": 2, "100": 100, "4194304": 4194304} {
		if got, err := parsePids(text); err != nil || got != want {
			t.Errorf("parsePids(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "1", "-1", "1.5", "4194305", "99999999999999999999", "max"} {
		if got, err := parsePids(text); err == nil {
			t.Errorf("parsePids(%q) = %v; want an error", text, got)
		}
	}
}

func TestUnitsShow(t *testing.T) {
	for size, want := range map[Size]string{0: "0B", 1000: "1000B", 2 * GiB: "2GiB", 1536 * MiB: "1536MiB", PiB: "1PiB", KiB: "1KiB", -GiB: "-1GiB"} {
		if got := size.String(); got != want {
			t.Errorf("Size(%d) = %q; want %q", int64(size), got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		30 * time.Minute: "30m", 5 * time.Second: "5s", 90 * time.Minute: "1h30m", time.Hour: "1h", 90 * time.Second: "1m30s",
		time.Hour + time.Second: "1h0m1s", 250 * time.Millisecond: "250ms", 10 * time.Minute: "10m", 720 * time.Hour: "720h", 0: "0s",
	} {
		if got := Duration(d).String(); got != want {
			t.Errorf("Duration(%d) = %q; want %q", d, got, want)
		}
	}
}

type units struct {
	Size Size     `json:"size,omitempty" yaml:"size"`
	Time Duration `json:"time,omitempty" yaml:"time"`
}

func TestUnitsRoundTrip(t *testing.T) {
	want := units{3 * MiB, Duration(90 * time.Minute)}
	data, err := json.Marshal(want)
	if err != nil || string(data) != `{"size":3145728,"time":"1h30m"}` {
		t.Fatalf("Marshal = %s, %v", data, err)
	}
	for _, text := range []string{string(data), `{"size":"3MiB","time":5400}`} {
		var fromJSON, fromYAML units
		if err := json.Unmarshal([]byte(text), &fromJSON); err != nil || fromJSON != want {
			t.Errorf("json %s = %v, %v; want %v", text, fromJSON, err, want)
		}
		if err := yaml.Unmarshal([]byte(text), &fromYAML); err != nil || fromYAML != want {
			t.Errorf("yaml %s = %v, %v; want %v", text, fromYAML, err, want)
		}
	}
	for _, text := range []string{
		`{"size":0}`, `{"size":-1}`, `{"size":null}`, `{"size":[1]}`, `{"size":true}`, `{"size":"x"}`,
		`{"time":0}`, `{"time":-1}`, `{"time":null}`, `{"time":{}}`, `{"time":"x"}`,
	} {
		var u units
		if err := json.Unmarshal([]byte(text), &u); err == nil {
			t.Errorf("json %s = %v; want an error", text, u)
		}
	}
	for _, text := range []string{"size: 0", "size: [1]", "time: -1", "time: {a: b}"} {
		var u units
		if err := yaml.Unmarshal([]byte(text), &u); err == nil {
			t.Errorf("yaml %s = %v; want an error", text, u)
		}
	}
}
