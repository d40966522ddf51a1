package format

import (
	"fmt"
	"testing"
)

func TestTail(t *testing.T) {
	for _, parts := range [][]string{{"abcdefgh"}, {"abcd", "efgh"}, {"abcdefg", "h"}, {"a", "b", "c", "d", "e", "f", "g", "h"}} {
		end := Tail{Limit: 5}
		for _, part := range parts {
			fmt.Fprint(&end, part)
		}
		if end.String() != "defgh" {
			t.Errorf("%q: kept %q", parts, end.String())
		}
	}
}
