package suggest

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"memory", "cpus", "pids", "timeout", "log-size"}
	tests := map[string]string{"memry": "memory", "mmeory": "memory", "cpu": "cpus", "MEMORY": "memory", "pid": "pids", "xyz": "", "": "", "logsize": "log-size", "q": ""}
	for word, want := range tests {
		if got := nearest(word, known); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
