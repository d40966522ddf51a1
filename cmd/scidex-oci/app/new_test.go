package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckScript: of a long first line no more counts than for the kernel and for run.
func TestCheckScript(t *testing.T) {
	for line, want := range map[string]string{"#!/bin/sh\r\n": "Windows", "#!/bin/sh" + strings.Repeat(" ", 300) + "\r\n": ""} {
		path := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkScript(path); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", line, err)
		}
	}
}
