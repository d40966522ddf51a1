package image

import (
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0f", 32)
	for _, name := range []string{
		"scientific", "a", "0", "python3.12-slim_x", "python:3.12", "library/python", "registry.example:5000/team/python:v1_A",
		"Registry.example/python", "[::1]:5000/python", "python" + digest, "a/b/c:t" + digest, strings.Repeat("a", maxName),
	} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{
		"", "host", ".", "..", "./a", "../a", "/a", "-a", "_a", ".a", "a/", "/", "a//b", "a/../b", "a/.b", "a b", "a\nb", "a\x1b[1m", "Python",
		"a:", "a:b:c", "a@sha256:00", "a@" + digest, "é", "a/B", strings.Repeat("a", maxName+1),
	} {
		if CheckName(name) == nil {
			t.Errorf("%q was taken", name)
		}
	}
}

func TestIsPath(t *testing.T) {
	for given, want := range map[string]bool{
		"/srv/root": true, ".": true, "..": true, "./root": true, "../root": true,
		"root": false, "a/b": false, ".hidden": false, "host": false, "": false,
	} {
		if isPath(given) != want {
			t.Errorf("%q: %v", given, !want)
		}
	}
}
