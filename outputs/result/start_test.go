package result

import (
	"encoding/json"
	"testing"
)

// TestStartOfEarlierVersions reads a start that is not made any more, and writes it as it was.
func TestStartOfEarlierVersions(t *testing.T) {
	const text = `{"kind":"forked","modules":{"numpy":"1.24.2"},"shared_bytes":4096}`
	var start Start
	if err := json.Unmarshal([]byte(text), &start); err != nil || start.Kind != "forked" || start.SharedBytes != 4096 {
		t.Errorf("%+v, %v", start, err)
	}
	if again, err := json.Marshal(start); err != nil || string(again) != text {
		t.Errorf("%s, %v", again, err)
	}
}
