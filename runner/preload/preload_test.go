package preload

import (
	"reflect"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/spec"
)

func TestRead(t *testing.T) {
	for note, want := range map[string]result.Start{
		"ready\nnumpy 1.24.2\nos \nbad name 1\nx \x1b[2J\n": {Kind: "ready", Modules: map[string]string{"numpy": "1.24.2", "os": ""}},
		"ready":                      {Kind: "ready", Modules: map[string]string{}},
		"cold\nan import printed":    {Kind: "cold", Reason: "an import printed"},
		"cold\n\x1b[2Ja\nb":          {Kind: "cold", Reason: "a b"},
		"":                           {Kind: "cold", Reason: "the interpreter ended before it had imported the modules"},
		"readyness":                  {Kind: "cold", Reason: "the interpreter ended before it had imported the modules"},
		"\xff\nready":                {Kind: "cold", Reason: "ready"},
		"cold\n" + long(1000):        {Kind: "cold", Reason: long(maxReason-1) + "…"},
		"ready\n" + long(200) + " 1": {Kind: "ready", Modules: map[string]string{}},
	} {
		if got := Read(note); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", note, got, want)
		}
	}
}

func long(n int) string { return strings.Repeat("a", n) }

func TestObstacle(t *testing.T) {
	const script = "/analysis/a.py"
	for name, c := range map[string]struct {
		preload string
		command []string
		text    string
		env     map[string]string
		want    string
	}{
		"extension":  {"", []string{"python3", script, "x"}, "import numpy", nil, ""},
		"shebang":    {"auto", []string{"/usr/bin/python3.11", script}, "import numpy", nil, ""},
		"env":        {"numpy", []string{"/usr/bin/env", "python3", script}, "import numpy", nil, ""},
		"none":       {"none", []string{"python3", script}, "import numpy", nil, "--preload none"},
		"flags":      {"", []string{"python3", "-I", script}, "import numpy", nil, "only Python scripts are made ready"},
		"PyPy":       {"", []string{"/usr/bin/pypy3", script}, "import numpy", nil, "only CPython imports ahead"},
		"another":    {"", []string{"Rscript", script}, "import numpy", nil, "only Python scripts are made ready"},
		"notebook":   {"", []string{"python3", "-c", "x", script}, "import numpy", nil, "only Python scripts are made ready"},
		"PYTHONPATH": {"", []string{"python3", script}, "import numpy", map[string]string{"PYTHONPATH": ""}, "PYTHONPATH is set"},
		"hash seed":  {"", []string{"python3", script}, "import numpy", map[string]string{"PYTHONHASHSEED": "0"}, ""},
		"no import":  {"", []string{"python3", script}, "print(1)", nil, "the script imports nothing"},
		"named":      {"numpy", []string{"python3", script}, "print(1)", nil, ""},
	} {
		if got := Obstacle(spec.Analysis{Preload: c.preload}, c.command, script, strings.NewReader(c.text), c.env); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("ready\nnumpy 1.24.2\n")
	f.Add("cold\nwhy")
	f.Fuzz(func(t *testing.T, note string) {
		start := Read(note)
		if len(start.Modules) > maxModules || len(start.Reason) > maxReason*4 || (start.Kind == result.StartCold) == (start.Reason == "") {
			t.Errorf("%+v", start)
		}
	})
}
