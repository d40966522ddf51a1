package canary

import (
	"slices"
	"testing"
)

func TestReplyDNSTakesAnything(t *testing.T) {
	for _, asked := range [][]byte{nil, {}, make([]byte, 11), make([]byte, 16), slices.Repeat([]byte{0xff}, MaxDNS)} {
		if answer := ReplyDNS(asked); answer != nil {
			t.Errorf("%d bytes are answered", len(asked))
		}
	}
	if answer := ReplyDNS(question(7)); len(answer) != len(question(7))+16 || answer[1] != 7 || answer[2]&response == 0 {
		t.Errorf("% x", answer)
	}
}
