package suggest

import "testing"

func TestDidYouMean(t *testing.T) {
	known := []string{"memory", "cpus", "pids", "timeout", "log-size", "ids"}
	tests := map[string]string{"memry": "memory", "mmeory": "memory", "cpu": "cpus", "MEMORY": "memory", "pid": "pids", "xyz": "", "": "", "logsize": "log-size", "q": "", "id": ""}
	for word, want := range tests {
		if want != "" {
			want = `; did you mean "--` + want + `"?`
		}
		if got := DidYouMean(word, known, "--"); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestFlag(t *testing.T) {
	known := []string{"memory", "work-size", "work-files", "env", "id", "ids", "since"}
	tests := map[string]string{"mem": "memory", "MEM": "memory", "work": "", "work-f": "work-files", "m": "", "memry": "memory", "id": "id"}
	for word, want := range tests {
		if want != "" {
			want = `; did you mean "--` + want + `"?`
		}
		if got := Flag(word, known); got != want {
			t.Errorf("Flag(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestList(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := List(words); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
