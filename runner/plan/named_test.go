package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/spec"
)

func TestNamed(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"full/file": "x", "fit.py": "print(1)\n", "plain": "no shebang\n"} {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		asks spec.Analysis
		want string
	}{
		{"a command", spec.Analysis{Command: []string{"nosuch"}}, ""},
		{"all there", spec.Analysis{Script: at("fit.py"), Data: dir, Docs: spec.None, Inputs: []string{at("plain"), at("full") + ":/inputs/x"}, Export: at("new")}, ""},
		{"no script", spec.Analysis{Script: at("nosuch.py")}, `nosuch.py": does not exist`},
		{"a directory as script", spec.Analysis{Script: at("full")}, "is not a regular file"},
		{"a script without interpreter", spec.Analysis{Script: at("plain")}, "plain"},
		{"no data", spec.Analysis{Data: at("nosuch")}, `--data "`},
		{"a file as data", spec.Analysis{Data: at("plain")}, "give a directory"},
		{"no stage", spec.Analysis{Stage: at("nosuch")}, `--stage "`},
		{"no runtime", spec.Analysis{Runtime: at("nosuch")}, `--runtime "`},
		{"no input", spec.Analysis{Inputs: []string{at("nosuch") + ":/inputs/x"}}, `--input "`},
		{"a blob", spec.Analysis{Inputs: []string{"sha256:" + strings.Repeat("a", 64)}}, ""},
		{"no image", spec.Analysis{Rootfs: "nosuch"}, "nosuch"},
		{"no root directory", spec.Analysis{Rootfs: at("nosuch")}, `--rootfs "`},
		{"a glob", spec.Analysis{Outputs: []string{"[a"}}, "[a"},
		{"an export that is in use", spec.Analysis{Export: at("full")}, "is not empty"},
		{"an export deep below what is there", spec.Analysis{Export: at("new/deep")}, ""},
		{"an export below a file", spec.Analysis{Export: at("plain/dir")}, "give a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Named{Root: at("root")}.Check(tt.asks)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	if err := (Named{Overwrite: true}).Check(spec.Analysis{Export: at("full")}); err != nil {
		t.Errorf("with overwrite: %v", err)
	}
}
