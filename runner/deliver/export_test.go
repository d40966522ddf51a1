package deliver

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// TestExportWarnsOfLeftOut: an output at the place of the result is not written, which each export says.
func TestExportWarnsOfLeftOut(t *testing.T) {
	for _, tt := range []struct {
		paths []string
		want  string
	}{
		{[]string{"a.txt", "scidex-result.json"}, `the output "scidex-result.json" is not written, because scidex-oci writes a file of that name; "scidex-oci outputs cat run@1 scidex-result.json" prints it`},
		{[]string{"a.txt", "scidex-result.json/b", "scidex-result.json/c"}, `the output "scidex-result.json/b" (and 1 more) is not written`},
		{[]string{"a.txt", "scidex-result.json/b c"}, `the output "scidex-result.json/b c" is not written, because scidex-oci writes a file of that name; "scidex-oci outputs cat run@1 'scidex-result.json/b c'" prints it`},
		{[]string{"a.txt", "dir/scidex-result.json", "scidex-statement.jsonl"}, ""},
	} {
		host, run := exportedOf(t, tt.paths...)
		dir := t.TempDir()
		one, err := ExportTo(t.Context(), host, run, filepath.Join(dir, "one"), false)
		if err != nil {
			t.Fatal(err)
		}
		b, err := OpenBelow(filepath.Join(dir, "many"), true)
		if err != nil {
			t.Fatal(err)
		}
		_, many, err := b.Export(t.Context(), host, run)
		if err := errors.Join(err, b.Close()); err != nil {
			t.Fatal(err)
		}
		for _, left := range []LeftOut{one, many} {
			if got := left.Warning(); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("%q: %q", tt.paths, got)
			}
		}
		if got := len(tree(t, filepath.Join(dir, "one"))); got != len(tt.paths)-int(one.Count)+1 {
			t.Errorf("%q: %d files", tt.paths, got)
		}
	}
}

// TestExportsIntoOneDirectory come one after the other.
func TestExportsIntoOneDirectory(t *testing.T) {
	host, run := exported(t)
	dir := t.TempDir()
	first, err := outputs.OpenTarget(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := ExportTo(stopped, host, run, dir, true); !errors.Is(err, context.Canceled) {
		t.Errorf("while another export writes: %v", err)
	}
	if got := tree(t, dir); len(got) > 0 {
		t.Errorf("while another export writes there is %q", got)
	}
	waited := make(chan error, 1)
	go func() {
		_, err := ExportTo(t.Context(), host, run, dir, true)
		waited <- err
	}()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if got := tree(t, dir); !slices.Equal(got, []string{"a.txt", "dir/b.txt", "scidex-result.json"}) {
		t.Errorf("%q", got)
	}
}
