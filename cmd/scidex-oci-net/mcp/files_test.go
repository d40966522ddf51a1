package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func text(s string) *string { return &s }

// TestFilesRefused: what leads out of /work, is too much or is not clear is refused by a sentence that names it.
func TestFilesRefused(t *testing.T) {
	var thousands []file
	for i := range mostFiles + 1 {
		thousands = append(thousands, file{Name: fmt.Sprint(i)})
	}
	for want, files := range map[string][]file{
		`file "../a": give a relative path`:          {{Name: "../a"}},
		`file "a/../../b": give a relative path`:     {{Name: "a/../../b"}},
		`file "a/../b": give a relative path`:        {{Name: "a/../b"}},
		`file "/etc/passwd": give a relative path`:   {{Name: "/etc/passwd"}},
		`file "": give a relative path`:              {{Name: ""}},
		`file ".": give a relative path`:             {{Name: "."}},
		`file "a//b": give a relative path`:          {{Name: "a//b"}},
		`file "a/": give a relative path`:            {{Name: "a/"}},
		`file "a\x00b": give a name without control`: {{Name: "a\x00b"}},
		`file "a\x1b[2Jb": give a name without`:      {{Name: "a\x1b[2Jb"}},
		`file "a\nb": give a name without`:           {{Name: "a\nb"}},
		`file "\xff": give a name without`:           {{Name: "\xff"}},
		`file "a\u200b": give a name without`:        {{Name: "a\u200b"}},
		`the name has 513 bytes`:                     {{Name: strings.Repeat("x", mostName+1)}},
		`é…": the name has 1201 bytes`:               {{Name: "x" + strings.Repeat("é", 600)}},
		`file "a" is given twice`:                    {{Name: "a"}, {Name: "a"}},
		`file "a": give text or base64, not both`:    {{Name: "a", Text: text(""), Base64: "aGk="}},
		`file "a": illegal base64 data`:              {{Name: "a", Base64: "*"}},
		`1001 files: give at most 1000`:              thousands,
		`8388609 bytes together`:                     {{Name: "a", Text: text(strings.Repeat("x", mostFileBytes))}, {Name: "b", Base64: "aA=="}},
	} {
		if err := checkFiles(files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestWriteFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	files := []file{{Name: "a", Text: text("1")}, {Name: "b/c/d.bin", Base64: "AP8="}, {Name: "..b", Text: text("")}}
	if err := checkFiles(files); err != nil {
		t.Fatal(err)
	}
	if err := writeFiles(dir, files); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "1", "b/c/d.bin": "\x00\xff", "..b": ""} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	err := writeFiles(filepath.Join(t.TempDir(), "new"), []file{{Name: "a"}, {Name: "a/b"}})
	if err == nil || strings.Contains(err.Error(), "/tmp") || !strings.Contains(err.Error(), `file "a/b": file exists`) {
		t.Errorf("%v", err)
	}
}
