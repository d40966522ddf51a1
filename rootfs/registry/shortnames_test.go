package registry

import (
	"strings"
	"testing"
)

func TestShortNames(t *testing.T) {
	sum := "@sha256:" + strings.Repeat("0", 64)
	names := ShortNames{
		"python": "docker.io/library/python", "me/tools": "registry.example:5000/me/tools", "python3.11": "localhost/python",
		"tagged": "registry.example/a:1", "none": "python", "wrong": "registry.example/A",
		"registry.example/a": "registry.example/b",
	}
	for given, want := range map[string]string{
		"python":                    "docker.io/library/python:latest",
		"python:3.12":               "docker.io/library/python:3.12",
		"python" + sum:              "docker.io/library/python" + sum,
		"python:3.12" + sum:         "docker.io/library/python:3.12" + sum,
		"me/tools:1":                "registry.example:5000/me/tools:1",
		"python3.11":                "localhost/python:latest",
		"registry.example/python:1": "registry.example/python:1",
		"registry.example/a":        "registry.example/a:latest", // it has a registry
	} {
		got, err := names.Parse(given)
		must(t, err)
		if got.String() != want || got.given != given {
			t.Errorf("%q: %s given as %q, want %s", given, got, got.given, want)
		}
	}
	for given, words := range map[string][]string{
		"r-base:4":                          {`"r-base:4" names no registry`, "write HOST/r-base:4", "config set short_names.r-base HOST/PATH"},
		"me/python" + sum:                   {"names no registry", "config set short_names.me/python HOST/PATH"},
		"library/python":                    {"names no registry"},
		"tagged":                            {"stands for", "tag or a digest"},
		"none":                              {`"none" stands for "python"`, "HOST/PATH"},
		"wrong":                             {`"wrong" stands for`},
		"Python":                            {"no reference of an image"},
		"python:":                           {"the tag is empty"},
		"python:a b":                        {"no reference of an image"},
		"":                                  {"no reference of an image"},
		"python@sha256:0":                   {"digest"},
		"-x":                                {"no reference of an image"},
		"registry.example/A":                {"no reference of an image"},
		strings.Repeat("a", maxReference+1): {"at most"},
	} {
		_, err := names.Parse(given)
		expectRefusal(t, err, words...)
	}
	if _, err := ShortNames(nil).Parse("python"); err == nil || strings.Contains(err.Error(), "docker.io") {
		t.Error(err)
	}
}
