package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestImports: each of these takes time before main, in every supervisor and once more in every container.
func TestImports(t *testing.T) {
	heavy := []string{
		"database/sql", "encoding/gob", "net/http", "crypto/tls", "github.com/urfave/cli", "github.com/klauspost/compress",
		"github.com/seccomp/libseccomp-golang", "github.com/mattn/go-sqlite3", "github.com/jackc/pgx", "github.com/google/go-containerregistry",
		"oras.land/oras-go", "go.yaml.in/yaml", "github.com/moby/profiles",
	}
	list := exec.Command("go", "list", "-deps", "-tags", "runc_nocriu,netgo,osusergo", ".")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for imported := range strings.Lines(string(out)) {
		for _, pkg := range heavy {
			if strings.HasPrefix(imported, pkg) {
				t.Errorf("the supervisor's program has %s", strings.TrimSpace(imported))
			}
		}
	}
}
