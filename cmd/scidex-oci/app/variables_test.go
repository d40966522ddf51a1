package app

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
)

const prefix = "SCIDEX_OCI_"

// TestUnreadVariables: a mistyped variable is named, once and with the one that was probably meant.
func TestUnreadVariables(t *testing.T) {
	for name, want := range map[string]string{
		"MEMROY":       "scidex-oci: nothing reads the variable SCIDEX_OCI_MEMROY; did you mean \"SCIDEX_OCI_MEMORY\"?\n",
		"TOTAL_MEMROY": "scidex-oci: nothing reads the variable SCIDEX_OCI_TOTAL_MEMROY; did you mean \"SCIDEX_OCI_TOTAL_MEMORY\"?\n",
		"NOTHING_NEAR": "scidex-oci: nothing reads the variable SCIDEX_OCI_NOTHING_NEAR\n",
		"MEMORY":       "", "KEY_FILE": "", "ENGINE": "", "TEST_ANYTHING": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(prefix+name, "1GiB")
			if code, _, stderr := runProgram(t, "image", "ls", "--json"); code != 0 || stderr != want {
				t.Errorf("code %d, %q, want %q", code, stderr, want)
			}
			if _, _, stderr := runProgram(t, "--log-level", "error", "image", "ls", "--json"); stderr != "" {
				t.Errorf("%q", stderr)
			}
		})
	}
}

// TestVariablesAreKnown compares the list of variables that are read elsewhere with those that are: the flags of both programs,
// and the names in all files of the repository.
func TestVariablesAreKnown(t *testing.T) {
	core, whole := command.Variables(newApp(&command.Program{})), command.Variables(newApp(wholeProgram()))
	used := namesInFiles(t, "../../..")
	for _, name := range append(slices.Clone(whole), used...) {
		if !slices.Contains(core, name) && !slices.Contains(command.Elsewhere, name) {
			t.Errorf("%s%s is read by nothing that cmd/scidex-oci/command/variables.go knows", prefix, name)
		}
	}
	for _, name := range command.Elsewhere {
		if slices.Contains(core, name) || !slices.Contains(whole, name) && !slices.Contains(used, name) {
			t.Errorf("%s%s is a flag of scidex-oci, or nothing reads it", prefix, name)
		}
	}
}

// namesInFiles are the variables that files name, but for those that tests give each other or take as wrong ones.
func namesInFiles(t *testing.T, dir string) (all []string) {
	t.Helper()
	name := regexp.MustCompile(`\b` + prefix + `([A-Z0-9_]*[A-Z0-9])\b`)
	skipped := []string{".git", "bin", "dist", "node_modules"}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skipped, entry.Name()):
			return fs.SkipDir
		case !entry.Type().IsRegular() || filepath.Base(path) == "variables_test.go":
			return nil
		}
		data, err := os.ReadFile(path)
		for _, found := range name.FindAllSubmatch(data, -1) {
			if word := string(found[1]); !strings.HasPrefix(word, "TEST_") && word != "ALLOW_BINDS" { // of the config file only
				all = append(all, word)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
