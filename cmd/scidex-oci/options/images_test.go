package options

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

func TestImages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	system := write(t, filepath.Join(dir, "system.yaml"), "images: {'debian:12': theirs, alpine: host}\n")
	mine := write(t, filepath.Join(dir, "mine.yaml"), "images:\n  debian:12: ours\n  docker.io/python@sha256:00: ./root\n")
	from, err := readConfig(mine, configKeys())
	if err != nil {
		t.Fatal(err)
	}
	got, err := from.images(system)
	want := map[string]string{"debian:12": "ours", "alpine": "host", "docker.io/python@sha256:00": filepath.Join(dir, "root")}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestRefusedImages(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"images: [a]\n":           "images: not a mapping, as in",
		"images: {'a b': host}\n": `"a b" is no name of an image`,
		"images: {a: [b]}\n":      "a: give one value",
		"images: {a: b, a: c}\n":  `"a" is given twice`,
		"image: {a: b}\n":         `unknown key "image"`,
	} {
		if err := CheckConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %q", text, err, want)
		}
	}
}
