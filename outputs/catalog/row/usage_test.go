package row_test

import (
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/row"
)

func TestUsage(t *testing.T) {
	tests := []struct {
		name  string
		texts row.UsageTexts
		want  catalog.Usage
	}{
		{"nothing", row.UsageTexts{}, catalog.Usage{}},
		{
			"all",
			row.UsageTexts{WallMS: "1", CPUMS: "2", MemoryPeak: "9007199254740993", Memory: "4", CPUs: "0.5", Timeout: "1h0.5s", Reason: "exit"},
			catalog.Usage{WallMS: 1, CPUMS: 2, MemoryPeak: 9007199254740993, Memory: 4, CPUs: 0.5, TimeoutMS: 3_600_500},
		},
		{"out of memory", row.UsageTexts{Reason: "out_of_memory"}, catalog.Usage{OutOfMemory: true}},
		{"timed out, after seconds", row.UsageTexts{Timeout: "90.5", Reason: "timeout"}, catalog.Usage{TimeoutMS: 90_500, TimedOut: true}},
		{"another program's words", row.UsageTexts{WallMS: "x", Memory: "64MiB", CPUs: "many", Timeout: "soon"}, catalog.Usage{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.texts.Usage(); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}
