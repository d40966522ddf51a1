package bounded_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
)

func TestLines(t *testing.T) {
	const most = 100_000 // more than the buffer
	x := strings.Repeat("x", most)
	for in, want := range map[string][]string{
		"":                      {`"" EOF`},
		"a\n\nb\n":              {`"a\n"`, `"\n"`, `"b\n"`, `"" EOF`},
		"a\nb":                  {`"a\n"`, `"b" EOF`},
		x[1:] + "\nb\n":         {fmt.Sprintf("%q", x[1:]+"\n"), `"b\n"`, `"" EOF`},
		x + "\nb\n":             {`"" long`, `"b\n"`, `"" EOF`},
		x + x + x + "\n" + x:    {`"" long`, fmt.Sprintf("%q EOF", x)},
		"a\n" + x + "y" + "\n":  {`"a\n"`, `"" long`, `"" EOF`},
		"a\n" + x + "does not ": {`"a\n"`, `"" long EOF`},
	} {
		lines := bounded.NewLines(strings.NewReader(in), most)
		var got []string
		for {
			line, long, err := lines.Next()
			text := fmt.Sprintf("%q", line)
			if long {
				text += " long"
			}
			if errors.Is(err, io.EOF) {
				text += " EOF"
			}
			got = append(got, text)
			if err != nil {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%.20q: %.60q, want %.60q", in, got, want)
		}
	}
}
