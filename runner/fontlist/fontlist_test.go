package fontlist

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/spec"
)

func TestParse(t *testing.T) {
	for printed, want := range map[string]string{
		"fontlist-v330.json\n{}\n":      "fontlist-v330.json {}\n",
		"":                              " ",
		"fontlist-v330.json":            "",
		"../fontlist-v330.json\n{}":     "",
		"fontlist-v330.json/x\n{}":      "",
		"a warning\nfontlist-v1.json\n": "",
	} {
		got, err := Parse([]byte(printed))
		switch {
		case want == "" && err == nil:
			t.Errorf("%q: %+v", printed, got)
		case want != "" && (err != nil || got.Name+" "+string(got.Data) != want):
			t.Errorf("%q: %+v, %v", printed, got, err)
		}
	}
	if _, err := Parse(append([]byte("fontlist-v1.json\n"), make([]byte, Max+1)...)); err == nil {
		t.Error("a list above the bound was accepted")
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	if _, err := Find(root, "key"); err == nil {
		t.Error("found a list that was not kept")
	}
	for key, list := range map[string]List{"key": {Name: "fontlist-v330.json", Data: []byte("{}")}, "none": {}} {
		if err := Keep(root, key, list); err != nil {
			t.Fatal(err)
		}
		if got, err := Find(root, key); err != nil || got.Name != list.Name || !bytes.Equal(got.Data, list.Data) {
			t.Errorf("%s: %+v, %v", key, got, err)
		}
	}
	if err := os.Chmod(location(root, "key"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(root, "key"); err == nil {
		t.Error("a file that others may write was accepted")
	}
}

func TestWanted(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		env    map[string]string
		want   bool
	}{
		"plots":             {"import matplotlib.pyplot as plt\n", nil, true},
		"seaborn":           {"import seaborn", nil, true},
		"no plots":          {"import mymatplotlib2", nil, false},
		"another directory": {"import matplotlib", map[string]string{"MPLCONFIGDIR": "/work"}, false},
	} {
		if got := Wanted(spec.Analysis{Env: c.env}, strings.NewReader(c.script)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A key changes with fonts and packages, in the root filesystem and in the runtime, and with nothing else.
func TestKey(t *testing.T) {
	root, runtime := t.TempDir(), t.TempDir()
	fonts, packages := filepath.Join(root, "usr/share/fonts/a/b"), filepath.Join(runtime, "lib/python3.11/site-packages")
	for _, dir := range []string{fonts, packages} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sources := Sources{Root: root, Runtime: runtime, Interpreter: "python3"}
	key := func() string {
		t.Helper()
		key, err := sources.Key()
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	past := time.Now().Add(-time.Hour)
	for _, dir := range []string{fonts, packages} {
		if err := os.Chtimes(dir, past, past); err != nil {
			t.Fatal(err)
		}
	}
	first := key()
	if key() != first {
		t.Error("it changes without a reason")
	}
	for name, file := range map[string]string{"a font": fonts + "/new.ttf", "a package": packages + "/new.dist-info"} {
		before := key()
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if key() == before {
			t.Errorf("%s does not change it", name)
		}
	}
	sources.RootID = "sha256:1"
	if before := key(); before == first {
		t.Error("the digest of an image does not change it")
	}
}
