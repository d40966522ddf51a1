package screen

import (
	"bytes"
	"testing"
)

func TestWriteJSON(t *testing.T) {
	var got bytes.Buffer
	if err := WriteJSON(&got, map[string]string{"a": "\x1b\x7f\u009b\u202e\ufeff\U000e0041<&>é\n"}); err != nil {
		t.Fatal(err)
	}
	if want := `{"a":"\u001b\u007f\u009b\u202e\ufeff\udb40\udc41<&>é\n"}` + "\n"; got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
}
