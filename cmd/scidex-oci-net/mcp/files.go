package mcp

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

const (
	// mostFiles bounds the files of a call, mostFileBytes their bytes together.
	mostFiles     = 1000
	mostFileBytes = 8 << 20
	// mostName bounds the name of a file, in bytes.
	mostName = 512
)

// file is a file of a call.
type file struct {
	Name   string  `json:"name" jsonschema:"a relative path below /work"`
	Text   *string `json:"text,omitempty" jsonschema:"the content"`
	Base64 string  `json:"base64,omitempty" jsonschema:"instead of text"`
}

// content is what a file holds.
func (f file) content() ([]byte, error) {
	if f.Text != nil && f.Base64 != "" {
		return nil, fmt.Errorf("file %s: give text or base64, not both", shown(f.Name))
	}
	if f.Text != nil {
		return []byte(*f.Text), nil
	}
	content, err := base64.StdEncoding.DecodeString(f.Base64)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w; give the content in standard base64, or as text", shown(f.Name), err)
	}
	return content, nil
}

// shown is a name in a message.
func shown(name string) string { return `"` + screen.Escape(format.Cut(name, mostName)) + `"` }

// checkName refuses names that are not plainly below /work.
func checkName(name string) error {
	switch {
	case len(name) > mostName:
		return fmt.Errorf("file %s: the name has %d bytes; give one of at most %d", shown(name), len(name), mostName)
	case !filepath.IsLocal(name) || path.Clean(name) != name || name == ".":
		return fmt.Errorf("file %s: give a relative path below /work, such as \"lib/model.py\", without \"..\"", shown(name))
	case !utf8.ValidString(name) || screen.Escape(name) != name:
		return fmt.Errorf("file %s: give a name without control characters and invisible ones", shown(name))
	}
	return nil
}

// checkFiles refuses too many files, and too large ones, before one is written.
func checkFiles(files []file) error {
	if len(files) > mostFiles {
		return fmt.Errorf("%d files: give at most %d in a call; one archive that the code unpacks holds more", len(files), mostFiles)
	}
	total, seen := 0, map[string]bool{}
	for _, f := range files {
		content, err := f.content()
		if err == nil {
			err = checkName(f.Name)
		}
		if err != nil {
			return err
		}
		if seen[f.Name] {
			return fmt.Errorf("file %s is given twice; give each once", shown(f.Name))
		}
		seen[f.Name] = true
		total += len(content)
	}
	if total > mostFileBytes {
		return fmt.Errorf("the files have %d bytes together: give at most %d in a call", total, mostFileBytes)
	}
	return nil
}

// writeFiles writes files below a new directory. Nothing is written outside of it, whatever the names are.
func writeFiles(dir string, files []file) (err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files {
		content, err := f.content()
		if err == nil {
			err = root.MkdirAll(path.Dir(f.Name), 0o700)
		}
		if err == nil {
			err = root.WriteFile(f.Name, content, 0o644)
		}
		if err != nil {
			return fmt.Errorf("file %s: %w; a name may be a file or a directory, not both", shown(f.Name), userdir.Plain(err))
		}
	}
	return nil
}

// extensions are what a script of each language is called by: it says what runs it.
var extensions = map[string]string{"python": ".py", "r": ".R", "julia": ".jl", "shell": ".sh", "sh": ".sh", "bash": ".sh"}

// writeCode writes the code of a call as a script.
func writeCode(dir, language, code string) (string, error) {
	if strings.ContainsRune(code, 0) {
		return "", errors.New("code: it has a NUL character; give text")
	}
	if language == "bash" && !strings.HasPrefix(code, "#!") { // else sh would run it
		code = "#!/usr/bin/env bash\n" + code
	}
	name := filepath.Join(dir, "code"+extensions[language])
	return name, os.WriteFile(name, []byte(code), 0o644)
}
