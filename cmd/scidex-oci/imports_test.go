package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestImports: what a run on this host needs starts without what other hosts are needed for (docs/adr/0043). scripts/build has
// the filter of system calls compiled (runner/filter); no run does.
func TestImports(t *testing.T) {
	core := dependencies(t, ".")
	for _, imported := range core {
		for _, other := range []string{"libseccomp", "prometheus/", "google.golang.org/protobuf", "jackc/", "minio/", "oras", "go-containerregistry", "riverqueue", "modelcontextprotocol", "encoding/gob"} {
			if strings.Contains(imported, other) {
				t.Errorf("scidex-oci has %s", imported)
			}
		}
	}
	for _, heavy := range []string{"net/http", "crypto/tls", "html/template", "github.com/klauspost/compress/zstd"} {
		if slices.Contains(core, heavy) {
			t.Errorf("scidex-oci has %s", heavy)
		}
		if !slices.Contains(dependencies(t, "../scidex-oci-net"), heavy) {
			t.Errorf("scidex-oci-net does not have %s: is the list right?", heavy)
		}
	}
}

// dependencies are the packages that a program is made of.
func dependencies(t *testing.T, program string) []string {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-tags", "runc_nocriu,urfave_cli_no_docs,netgo,osusergo", program)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
