package hints

import (
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/regular"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/spec"
)

// interpreter is the interpreter that a file in a bound directory names, "" if it is no script: the kernel says of both that
// they are not there.
func (f Facts) interpreter(name string) (interpreter string, there bool) {
	b, rest, found := f.outside(name)
	if !found {
		return "", false
	}
	file, err := userdir.ReadAny(filepath.Join(b.host, rest))
	if err != nil {
		return "", false
	}
	defer file.Close()
	if regular.Check(file) != nil { // a pipe could block the read
		return "", false
	}
	line, _ := spec.FirstLine(file) // what could be read will do
	line, script := strings.CutPrefix(line, "#!")
	if words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' }); script && len(words) > 0 {
		interpreter = words[0]
	}
	return interpreter, true
}

// windows reports whether the end of a line of Windows is part of a name; env(1) writes it as \r.
func windows(name string) bool { return strings.HasSuffix(name, "\r") || strings.HasSuffix(name, `\r`) }
