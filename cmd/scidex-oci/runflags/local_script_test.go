package runflags

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLocalScript(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"fit.py", "my fit.R", "data/fit.py", "lib/fit.py", "bare"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		args []string
		want string // "": it is taken
	}{
		{[]string{"fit.py", "--alpha", "3"}, `fit.py is in your directory, which the analysis does not see; give it as a script: "--script fit.py -- --alpha 3"`},
		{[]string{"./fit.py"}, `"--script ./fit.py"`},
		{[]string{"lib/fit.py"}, `--script lib/fit.py`},
		{[]string{"my fit.R"}, `--script 'my fit.R'`},
		{[]string{"--rootfs", "image", "./fit.py"}, "--script ./fit.py"},
		{[]string{"--stage", ".", "./fit.py"}, ""},
		{[]string{"--rootfs", "image", "fit.py"}, ""},
		{[]string{"--runtime", "./env", "fit.py"}, ""},
		{[]string{"--env", "PATH=/data", "fit.py"}, ""},
		{[]string{"data/fit.py"}, ""},
		{[]string{"../fit.py"}, ""},
		{[]string{"other.py"}, ""},
		{[]string{"bare"}, ""},
		{[]string{"python3", "fit.py"}, ""},
		{[]string{filepath.Join(dir, "fit.py"), "3"}, dir + `/fit.py is a file of the host that the analysis does not see; give it as a script: "--script ` + dir + `/fit.py -- 3"`},
		{[]string{"--rootfs", "image", filepath.Join(dir, "fit.py")}, ""},
		{[]string{"--input", dir + ":" + dir, filepath.Join(dir, "fit.py")}, ""},
		{[]string{"--runtime", dir, filepath.Join(dir, "fit.py")}, ""},
	}
	for _, test := range tests {
		_, err := parserOf(t, dir, nil, test.args...).Analysis(t.Context(), noFind)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%q: %v, want %q", test.args, err, test.want)
		}
	}
}
