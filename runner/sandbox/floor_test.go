package sandbox

import (
	"math"
	"os"
	"strings"
	"testing"
)

func TestParseFloor(t *testing.T) {
	for text, want := range map[string]Floor{
		"5%": {Percent: 5}, "0.5%": {Percent: 0.5}, "2GiB": {Bytes: 2 << 30}, "1024": {Bytes: 1024}, "0": {}, "0%": {},
	} {
		got, err := ParseFloor(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if back, err := ParseFloor(got.String()); err != nil || back != got {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
	for _, text := range []string{"", "100%", "-1%", "%", "5 %", "NaN%", "1e1%", "all", "-5"} {
		if got, err := ParseFloor(text); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestFloorShort(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, floor := range []Floor{{}, {Bytes: 1}, {Percent: 1e-9}} {
		if short, err := floor.Short(dir, "here"); short != nil || err != nil {
			t.Errorf("%v: %v, %v", floor, short, err)
		}
	}
	for _, floor := range []Floor{{Bytes: math.MaxInt64}, {Percent: 99.999999}} {
		short, err := floor.Short(dir, "here")
		if err != nil || short == nil || short.Free >= short.Floor || !strings.Contains(short.String(), "here") {
			t.Errorf("%v: %v, %v", floor, short, err)
		}
	}
	proc, err := os.Open("/proc") // says that it has no blocks
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	if short, err := (Floor{Percent: 50, Bytes: 1 << 40}).Short(proc, "proc"); short != nil || err != nil {
		t.Errorf("a file system without a size: %v, %v", short, err)
	}
}
