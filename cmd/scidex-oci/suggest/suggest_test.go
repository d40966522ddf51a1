package suggest

import "testing"

func TestDidYouMean(t *testing.T) {
	known := []string{"memory", "cpus", "pids", "timeout", "log-size"}
	tests := map[string]string{"memry": "memory", "mmeory": "memory", "cpu": "cpus", "MEMORY": "memory", "pid": "pids", "xyz": "", "": "", "logsize": "log-size", "q": ""}
	for word, want := range tests {
		if want != "" {
			want = `; did you mean "--` + want + `"?`
		}
		if got := DidYouMean(word, known, "--"); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", word, got, want)
		}
	}
}
