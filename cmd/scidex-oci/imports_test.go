package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestImports: scripts/build has the filter of system calls compiled (runner/filter); no run does. Prometheus' own library is
// for tests alone: with protobuf it makes the program 3 MB larger, and every command starts 2 ms later.
func TestImports(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-tags", "runc_nocriu,urfave_cli_no_docs,netgo,osusergo", ".")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for imported := range strings.Lines(string(out)) {
		if strings.Contains(imported, "libseccomp") || strings.Contains(imported, "prometheus/") {
			t.Errorf("the program has %s", strings.TrimSpace(imported))
		}
	}
}
