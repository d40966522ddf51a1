package app

import (
	"strings"
	"testing"
)

func TestConfigSet(t *testing.T) {
	for name, c := range map[string]struct{ before, path, value, want string }{
		"an empty file":            {"", "memory", "4GiB", "memory: 4GiB\n"},
		"comments alone":           {"# mine\n", "memory", "4GiB", "# mine\nmemory: 4GiB\n"},
		"another key":              {"cpus: 1\n", "memory", "4GiB", "cpus: 1\nmemory: 4GiB\n"},
		"no newline at the end":    {"cpus: 1", "memory", "4GiB", "cpus: 1\nmemory: 4GiB\n"},
		"the same key":             {"a: 1\n\nmemory:   2GiB   # why\n\nb: 2\n", "memory", "4GiB", "a: 1\n\nmemory:   4GiB   # why\n\nb: 2\n"},
		"a quoted value":           {"memory: '2GiB'\n", "memory", "4GiB", "memory: 4GiB\n"},
		"letters of several bytes": {"é: 1\nö: ä # ü\n", "ö", "4", "é: 1\nö: 4 # ü\n"},
		"a list of lines":          {"input: # in\n- a\n# of b\n- b\n\n# next\nb: 2\n", "input", "[c]", "input: [c] # in\n\n# next\nb: 2\n"},
		"a list on a line":         {"input: [a, b] # in\nb: 2\n", "input", "[c]", "input: [c] # in\nb: 2\n"},
		"a list over lines":        {"input: [a,\n  b]\nb: 2\n", "input", "[c]", "input: [c]\nb: 2\n"},
		"a block":                  {"env: |\n  x\n  y\n\nb: 2\n", "env", "z", "env: z\n\nb: 2\n"},
		"Windows":                  {"a: 1\r\nb: 2\r\n", "a", "3", "a: 3\r\nb: 2\r\n"},
		"Windows, another key":     {"a: 1\r\n", "b", "3", "a: 1\r\nb: 3\r\n"},
		"a section":                {"a: 1\n", "gc.keep_last", "3", "a: 1\ngc:\n  keep_last: 3\n"},
		"in a section":             {"gc:\n    older_than: 3d\n\n# b\nb: 2\n", "gc.keep_last", "3", "gc:\n    older_than: 3d\n    keep_last: 3\n\n# b\nb: 2\n"},
		"a key of a section":       {"gc:\n  keep_last: 4 # why\nb: 2\n", "gc.keep_last", "3", "gc:\n  keep_last: 3 # why\nb: 2\n"},
		"the last section":         {"gc:\n  older_than: 3d", "gc.keep_last", "3", "gc:\n  older_than: 3d\n  keep_last: 3\n"},
	} {
		path := strings.Split(c.path, ".")
		got, err := setConfigText(c.before, path, c.value)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
		if err := onlyConfigChanged(c.before, got, path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNested: a registry is a section in a section, whose name has dots.
func TestConfigNested(t *testing.T) {
	mirrors := []string{"registries", "docker.io", "mirrors"}
	address := []string{"registries", "[::1]:5000", "plain_http"}
	for name, c := range map[string]struct {
		before    string
		path      []string
		set, gone string
	}{
		"an empty file":   {"", mirrors, "registries:\n  docker.io:\n    mirrors: x\n", ""},
		"another host":    {"registries:\n  a.b:\n    plain_http: true\nc: 1\n", mirrors, "registries:\n  a.b:\n    plain_http: true\n  docker.io:\n    mirrors: x\nc: 1\n", "registries:\n  a.b:\n    plain_http: true\nc: 1\n"},
		"another key":     {"registries:\n  docker.io:\n    plain_http: true\n", mirrors, "registries:\n  docker.io:\n    plain_http: true\n    mirrors: x\n", "registries:\n  docker.io:\n    plain_http: true\n"},
		"the same":        {"a: 1\nregistries:\n  docker.io:\n    mirrors: [a, b] # why\n", mirrors, "a: 1\nregistries:\n  docker.io:\n    mirrors: x # why\n", "a: 1\n"},
		"an address":      {"", address, "registries:\n  \"[::1]:5000\":\n    plain_http: x\n", ""},
		"an address more": {"registries:\n  '[::1]:5000':\n    mirrors: a\n", address, "registries:\n  '[::1]:5000':\n    mirrors: a\n    plain_http: x\n", "registries:\n  '[::1]:5000':\n    mirrors: a\n"},
	} {
		got, err := setConfigText(c.before, c.path, "x")
		if err != nil || got != c.set {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.set)
		}
		if err := onlyConfigChanged(c.before, got, c.path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		gone, err := unsetConfigText(got, c.path)
		if err != nil || gone != c.gone {
			t.Errorf("%s: %q, %v, want %q", name, gone, err, c.gone)
		}
		if err := onlyConfigChanged(got, gone, c.path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if same, err := unsetConfigText("registries:\n  docker.io:\n    other: 1\n", c.path); err != nil || same != "registries:\n  docker.io:\n    other: 1\n" {
			t.Errorf("%s: %q, %v", name, same, err)
		}
	}
}

func TestConfigUnset(t *testing.T) {
	for name, c := range map[string]struct{ before, path, want string }{
		"not there":            {"a: 1\n", "b", "a: 1\n"},
		"no such section":      {"a: 1\n", "gc.b", "a: 1\n"},
		"not in the section":   {"gc:\n  a: 1\n", "gc.b", "gc:\n  a: 1\n"},
		"the only one":         {"# mine\na: 1\n", "a", "# mine\n"},
		"one of several":       {"a: 1\n\n# b\nb: 2 # why\nc: 3\n", "b", "a: 1\n\n# b\nc: 3\n"},
		"a list":               {"a:\n- 1\n- 2\nb: 2\n", "a", "b: 2\n"},
		"of a section":         {"gc:\n  a: 1\n  b: 2\nc: 3\n", "gc.a", "gc:\n  b: 2\nc: 3\n"},
		"the last of it":       {"gc:\n  a: 1\nc: 3\n", "gc.a", "c: 3\n"},
		"without a newline":    {"a: 1\nb: 2", "b", "a: 1\n"},
		"an unknown key":       {"memroy: 1\n", "memroy", ""},
		"a section as a whole": {"gc:\n  a: 1\n  b: 2\nc: 3\n", "gc", "c: 3\n"},
	} {
		path := strings.Split(c.path, ".")
		got, err := unsetConfigText(c.before, path)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
		if err := onlyConfigChanged(c.before, got, path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConfigFormsThatAreRefused has files where an edit by lines would change more than the key, or nothing.
func TestConfigFormsThatAreRefused(t *testing.T) {
	for before, path := range map[string]string{
		"{memory: 1GiB, cpus: 1}\n": "memory", "{cpus: 1}\n": "memory", "gc: {keep_last: 1}\n": "gc.keep_last", "cpus: 1\n...\n": "memory",
		"memory: &x 1\nb: *x\n": "memory", "gc: 1\n": "gc.keep_last",
	} {
		after, err := setConfigText(before, strings.Split(path, "."), "3")
		if err == nil {
			err = onlyConfigChanged(before, after, strings.Split(path, "."))
		}
		if err == nil {
			t.Errorf("%q became %q", before, after)
		}
	}
	for _, text := range []string{"- a\n", "a: [\n", "a\n"} {
		if after, err := setConfigText(text, []string{"memory"}, "3"); err == nil {
			t.Errorf("%q became %q", text, after)
		}
	}
}

func TestConfigEncode(t *testing.T) {
	for value, want := range map[string]string{
		"4GiB": "4GiB", "0.5": "0.5", "~": `"~"`, "null": `"null"`, "*.pyc": `"*.pyc"`, "a: b": "'a: b'", "a # b": "'a # b'", "a\nb": `"a\nb"`, "[a]": "'[a]'",
	} {
		if got, err := encodeConfig([]string{value}, false); err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", value, got, err, want)
		}
	}
	if got, err := encodeConfig([]string{"a, b", "c=d", "[e]"}, true); err != nil || got != "['a, b', c=d, '[e]']" {
		t.Errorf("a list: %s, %v", got, err)
	}
}

func FuzzConfigSet(f *testing.F) {
	f.Add("memory: 4GiB\ninput: [a]\nlabel: {a: b}\n", "x")
	f.Add("memory: |\n  # a\n\ngc:\n  a: 1\n# b", "- a")
	f.Fuzz(func(t *testing.T, before, value string) {
		encoded, err := encodeConfig([]string{value}, false)
		if err != nil || strings.ContainsAny(encoded, "\n") {
			return
		}
		after, err := setConfigText(before, []string{"memory"}, encoded)
		if err != nil || onlyConfigChanged(before, after, []string{"memory"}) != nil {
			return // refused
		}
		if values, err := decodeConfig(after); err != nil || values["memory"] == nil {
			t.Errorf("%q became %q: %v, %v", before, after, values, err)
		}
		if _, err := unsetConfigText(after, []string{"memory"}); err != nil {
			t.Errorf("unset in %q: %v", after, err)
		}
	})
}
