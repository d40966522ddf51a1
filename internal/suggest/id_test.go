package suggest

import "testing"

func TestID(t *testing.T) {
	known := []string{"case-1", "20261125-173722-ab12cd34", "x"}
	tests := map[string]string{
		"case-l": "case-1", "csae-1": "case-1", "case-100": "case-1", "cake-77": "", "20261125-173722-ab12cd35": "20261125-173722-ab12cd34",
		"20261125-201501-ab12cd34": "", "y": "x",
	}
	for id, want := range tests {
		if want != "" {
			want = `; did you mean "` + want + `"?`
		}
		if got := ID(id, known); got != want {
			t.Errorf("ID(%q) = %q, want %q", id, got, want)
		}
	}
}
