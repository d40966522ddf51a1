package app

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/spec"
)

func manifest(t *testing.T, script string) string {
	t.Helper()
	var b strings.Builder
	if err := writeManifest(&b, script, "scidex-oci run -f analysis.yaml"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestEveryFieldIsNamedOnce(t *testing.T) {
	var got []string
	for _, match := range regexp.MustCompile(`(?m)^#?([a-z_]+): `).FindAllStringSubmatch(manifest(t, "a.py"), -1) {
		got = append(got, match[1])
	}
	want := spec.FieldNames()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOnlyTheScriptIsSet(t *testing.T) {
	for _, script := range []string{"a.py", "../x y/ä.R", "- a: #b.sh", "true", "0x1", "a\"b'.ipynb"} {
		a, err := spec.ParseManifest([]byte(manifest(t, script)), "analysis.yaml")
		if err != nil || !reflect.DeepEqual(a, spec.Analysis{Script: script}) || a.Validate() != nil {
			t.Errorf("%q: %+v, %v", script, a, err)
		}
	}
}

// TestDefaults takes away the # before each field: the values are well-formed, and those of limits and choices are the
// defaults.
func TestDefaults(t *testing.T) {
	text := regexp.MustCompile(`(?m)^#([a-z_]+: )`).ReplaceAllString(manifest(t, "a.py"), "$1")
	a, err := spec.ParseManifest([]byte(text), "analysis.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a.Command = nil // beside a script it is refused
	if err := a.Validate(); err != nil {
		t.Error(err)
	}
	limits := spec.Analysis{
		Memory: a.Memory, CPUs: a.CPUs, Pids: a.Pids, Timeout: a.Timeout, Grace: a.Grace, LogSize: a.LogSize, WorkSize: a.WorkSize, WorkFiles: a.WorkFiles,
		WorkStorage: a.WorkStorage, Limits: a.Limits, DigestInputs: a.DigestInputs, Keep: a.Keep, Rootfs: a.Rootfs, Exclude: a.Exclude,
	}
	if want := (spec.Analysis{}).WithDefaults(); !reflect.DeepEqual(limits, want) {
		t.Errorf("got %+v, want %+v", limits, want)
	}
}
