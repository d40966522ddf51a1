package spec

import (
	"bufio"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// notebook is the Python program that executes the notebook given as its argument.
//
//go:embed notebook.py
var notebook string

// FirstLine reads the first line of a script, without its end, and at most as much as the kernel does of a shebang
// (BINPRM_BUF_SIZE, 256 bytes).
func FirstLine(script io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(script, 256)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSuffix(line, "\n"), err
}

// Interpreter returns the words before a script's path: those of its shebang, split like the kernel (execve(2): the
// interpreter and at most one argument), else by its extension. firstLine is what FirstLine reads. The script needs no execute
// bit.
func Interpreter(script, firstLine string) ([]string, error) {
	if rest, found := strings.CutPrefix(firstLine, "#!"); found {
		return shebang(script, rest)
	}
	switch ext := path.Ext(script); ext {
	case ".py":
		return []string{"python3"}, nil
	case ".R", ".r":
		return []string{"Rscript"}, nil
	case ".jl":
		return []string{"julia"}, nil
	case ".sh":
		return []string{"sh"}, nil
	case ".ipynb":
		return []string{"python3", "-c", notebook}, nil
	default:
		return nil, fmt.Errorf("script %s: nothing says what runs it: give it a first line such as %s, name it .py, .R, .jl, .sh or .ipynb, or pass a command", quote(script), exampleLine(script))
	}
}

// exampleLine is a first line for a script with such an extension.
func exampleLine(script string) string {
	usual := map[string]string{
		".R": "Rscript", ".r": "Rscript", ".jl": "julia", ".sh": "sh", ".bash": "bash", ".pl": "perl", ".rb": "ruby", ".js": "node", ".cjs": "node", ".mjs": "node",
		".lua": "lua", ".m": "octave", ".php": "php", ".tcl": "tclsh",
	}
	return "#!/usr/bin/env " + cmp.Or(usual[path.Ext(script)], "python3")
}

// HasInterpreter reports whether the extension of a script's name says what runs it.
func HasInterpreter(script string) bool {
	_, err := Interpreter(script, "")
	return err == nil
}

func shebang(script, rest string) ([]string, error) {
	const blank = " \t"
	if strings.HasSuffix(rest, "\r") {
		return nil, fmt.Errorf("script %s: its first line ends as Windows ends lines, so its interpreter would not be found: convert it with sed -i 's/\\r$//'", quote(script))
	}
	rest = strings.Trim(rest, blank)
	if !strings.HasPrefix(rest, "/") || strings.ContainsRune(rest, 0) {
		return nil, fmt.Errorf("script %s: its first line %s names no interpreter by an absolute path: write for instance %s", quote(script), quote("#!"+rest), exampleLine(script))
	}
	end := strings.IndexAny(rest, blank)
	if end < 0 {
		return []string{rest}, nil
	}
	return []string{rest[:end], strings.TrimLeft(rest[end:], blank)}, nil
}
