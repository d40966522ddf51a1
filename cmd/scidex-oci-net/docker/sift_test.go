package docker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// put writes a file, and the directories above it.
func put(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	kept, input := t.TempDir(), t.TempDir()
	put(t, filepath.Join(kept, "p/q/file"), "")
	put(t, filepath.Join(input, "in"), "")
	l := layout{out: &bind{target: "/job"}, inputs: []bind{{source: input, target: "/in"}}}
	want := map[string]string{ // "" is removed
		"near": "p/q/file", "top": "p/q/.."}
	for link, to := range map[string]string{
		"near": "p/q/file", "p/absolute": "/job/p/q/file", "input": "/in/in", "whole": "/in", "host": "/etc/passwd", "up": "../x",
		"p/q/back": "../..", "chain": "p/q/back/../x", "into": "/in/../../etc/passwd", "dangling": "none", "top": "p/q/..",
	} {
		if err := os.Symlink(to, filepath.Join(kept, link)); err != nil {
			t.Fatal(err)
		}
	}
	want["p/absolute"], want["input"], want["whole"], want["p/q/back"] = "q/file", filepath.Join(input, "in"), input, "../.."
	root, err := os.OpenRoot(kept)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	left, err := l.sift(root)
	if err != nil || len(left) != 5 {
		t.Errorf("%q, %v", left, err)
	}
	for _, link := range []string{"near", "top", "p/absolute", "input", "whole", "host", "up", "p/q/back", "chain", "into", "dangling"} {
		if to, _ := os.Readlink(filepath.Join(kept, link)); to != want[link] {
			t.Errorf("%s leads to %q, not to %q", link, to, want[link])
		}
		if said := slices.ContainsFunc(left, func(line string) bool { return strings.HasPrefix(line, `"`+link+`"`) }); said != (want[link] == "") {
			t.Errorf("%s is said: %t", link, said)
		}
	}
}
