package serve

import "testing"

// TestSplit: what is given twice stays so, for the parser of manifests to refuse.
func TestSplit(t *testing.T) {
	for object, want := range map[string][2]string{
		`{}`:                                   {`{}`, `{}`},
		`{"command": ["a"], "detached": true}`: {`{"detached": true}`, `{"command": ["a"]}`},
		`{"id":1, "events": 2,"id":3}`:         {`{"events": 2}`, `{"id": 1, "id": 3}`},
		`{"\u0065vents": {"events": 1}}`:       {`{"events": {"events": 1}}`, `{}`},
	} {
		taken, rest, err := split([]byte(object), "detached", "events")
		if got := [2]string{string(taken), string(rest)}; err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", object, got, err, want)
		}
	}
}

// TestParams: a sentence for a caller names parameters and methods, and no flag of a command line.
func TestParams(t *testing.T) {
	for given, want := range map[string]string{
		`--script "a.py" does not exist`:                                   `script "a.py" does not exist`,
		"is not empty; name an empty or new directory, or use --overwrite": `is not empty; name an empty or new directory, or use "overwrite": true`,
		`no run "x" in this catalog; see "scidex-oci ls"`:                  `no run "x" in this catalog; "list" has them`,
		"--work-size 1TiB and --input, --nothing":                          "work_size 1TiB and inputs, --nothing",
	} {
		if got := params(given); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
