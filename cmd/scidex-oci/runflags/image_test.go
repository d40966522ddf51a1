package runflags

import (
	"strings"
	"testing"
)

func TestImageAsCommand(t *testing.T) {
	dir := t.TempDir()
	tests := map[string]string{
		"python:3.12 python3 plot.py": `"python:3.12" reads like an image, not a command; name it with --rootfs: run --rootfs python:3.12 -- python3 plot.py ("scidex-oci image pull python:3.12" gets it first, "scidex-oci image ls" lists those that are there)`,
		"-- r-base:4":                 `run --rootfs r-base:4 -- COMMAND (`,
		"ghcr.io/a/b:v1 sh -c true":   `run --rootfs ghcr.io/a/b:v1 -- sh -c true (`,
		"localhost:5000/a:1 true":     `run --rootfs localhost:5000/a:1 -- true (`,
		"./a:b":                       "",
		"/bin/a:b":                    "",
		"a: b":                        "",
		":b":                          "",
		"A=b:c true":                  "",
		"python3 python:3.12":         "",
		"--script python:3.12.py":     "",
	}
	for line, want := range tests {
		_, err := parserOf(t, dir, nil, strings.Fields(line)...).Analysis(t.Context(), noFind)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}
