package options

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// Executable is a command's absolute path: one with a slash is relative to the directory that names it, any other is looked
// up in PATH.
func Executable(dir, name string) (string, error) {
	if strings.Contains(name, "/") {
		name = Absolute(dir, name)
	}
	path, err := exec.LookPath(name)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%q is not in PATH; give its path", name)
	case err != nil:
		if named := new(exec.Error); errors.As(err, &named) {
			err = named.Err // the message has the name
		}
		return "", fmt.Errorf("%w; give a file that can be executed", inode.Plain(err))
	}
	return filepath.Abs(path)
}

// SplitCommand splits an argument vector as a shell does: quotes, backslashes, comments, ~ and {a,b}. What would need a shell
// is refused rather than passed on as text; * and ? are unchanged.
func SplitCommand(line string, env Lookup) ([]string, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, fmt.Errorf("not a command by the rules of a shell (line:column %w)", err)
	}
	if len(file.Stmts) == 0 {
		return nil, errors.New("is empty; give a command or leave it out")
	}
	statement := file.Stmts[0]
	call, ok := statement.Cmd.(*syntax.CallExpr)
	plain := ok && len(file.Stmts) == 1 && len(call.Args) > 0 && len(call.Assigns)+len(statement.Redirs) == 0 &&
		!statement.Background && !statement.Negated
	if !plain {
		return nil, errors.New(`not one plain command, and no shell runs it; quote it, or give sh -c '...'`)
	}
	var words []string
	for _, word := range call.Args {
		if !literalWord(word) {
			return nil, errors.New(`it has an expansion such as $NAME, and no shell runs it; quote it with '...', or give sh -c '...'`)
		}
		fields, err := expand.Fields(&expand.Config{Env: expand.FuncEnviron(env.Text)}, word)
		if err != nil {
			return nil, err
		}
		words = append(words, fields...)
	}
	if words[0] == "" {
		return nil, errors.New("the name of the command is empty")
	}
	return words, nil
}

// literalWord reports whether a word holds text and quotes only.
func literalWord(word *syntax.Word) bool {
	plain := true
	syntax.Walk(word, func(node syntax.Node) bool {
		switch node.(type) {
		case nil, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted:
		default:
			plain = false
		}
		return plain
	})
	return plain
}
