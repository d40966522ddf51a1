package result

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRan(t *testing.T) {
	long := strings.Repeat("é", ranMax)
	tests := []struct{ name, request, want string }{
		{"a script", `{"script":"/home/me/plot.py","args":["--n","3","two words"]}`, "plot.py --n 3 'two words'"},
		{"a script alone", `{"id":"x","script":"fit.R"}`, "fit.R"},
		{"code of the Python client", `{"script":"/tmp/scidex-content-a1/analysis.py","args":["3"]}`, "code 3"},
		{"code of a model", `{"script":"/tmp/scidex-content-a1/7/code.py"}`, "code"},
		{"a directory of that name", `{"script":"/srv/scidex-content-1/fit.py"}`, "fit.py"},
		{"a command", `{"command":["/usr/bin/python3","-c","print(1)"]}`, "/usr/bin/python3 -c 'print(1)'"},
		{"what does not print", `{"command":["sh","-c","a\u001b[2J\nb\u202e\\n"]}`, `sh -c 'a\x1b[2J\nb\u202e\n'`},
		{"exactly the bound", `{"command":["` + long + `"]}`, "'" + strings.Repeat("é", ranMax-2) + "…"},
		{"too long", `{"command":["echo","` + long + `","` + long + `"]}`, "echo '" + strings.Repeat("é", ranMax-7) + "…"},
		{"nothing", `{}`, ""},
		{"another version's", `{"command":"all in one"}`, ""},
		{"none", ``, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Ran(json.RawMessage(tt.request))
			if got != tt.want || utf8.RuneCountInString(got) > ranMax {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestRanReadsLittle: of a huge request only the start is quoted.
func TestRanReadsLittle(t *testing.T) {
	words := strings.Repeat(`"\u001b",`, 100_000)
	if got := Ran(json.RawMessage(`{"command":["echo",` + words + `"end"]}`)); utf8.RuneCountInString(got) != ranMax {
		t.Errorf("%q", got)
	}
	if got := commandLine([]string{"echo", strings.Repeat("\x1b", 1<<20), "end"}, ranMax); len(got) > 8*ranMax || strings.Contains(got, "end") {
		t.Errorf("%d bytes", len(got))
	}
}
