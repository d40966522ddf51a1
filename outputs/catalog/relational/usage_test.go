package relational

import (
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

func TestUsage(t *testing.T) {
	tests := []struct {
		name, packed string
		want         catalog.Usage
	}{
		{"nothing", "", catalog.Usage{}},
		{
			"all", "1 2 9007199254740993 4 0.5 3168302E3573 65786974 =6b", // 1h0.5s, exit, k
			catalog.Usage{WallMS: 1, CPUMS: 2, MemoryPeak: 9007199254740993, Memory: 4, CPUs: 0.5, TimeoutMS: 3_600_500, Label: "k", Labelled: true},
		},
		{"no label", "1 0 0 0 0   ", catalog.Usage{WallMS: 1}},
		{"an empty label", "1 0 0 0 0   =", catalog.Usage{WallMS: 1, Labelled: true}},
		{"out of memory", "0 0 0 0 0  6f75745f6f665f6d656d6f7279 ", catalog.Usage{OutOfMemory: true}},
		{"timed out, after seconds", "0 0 0 0 0 39302e35 74696d656f7574 ", catalog.Usage{TimeoutMS: 90_500, TimedOut: true}},
		{"another program's words", "x 1.5 1e3 64MiB many 736f6f6e  ", catalog.Usage{}},
	}
	texts := usageTexts{}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := texts.usage(tt.packed); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}
