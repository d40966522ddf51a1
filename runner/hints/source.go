package hints

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

// maxSource bounds what is read of a script, in bytes.
const maxSource = 1 << 20

// source is the text of the script, or the words of the command; "" where the script cannot be read.
func (f Facts) source() string {
	a := f.Ended.Analysis
	if a.Script == "" {
		return strings.Join(a.Command, " ")
	}
	if !filepath.IsAbs(a.Script) || !regular(a.Script) {
		return ""
	}
	file, err := userdir.ReadAny(a.Script) // it may have been replaced by a pipe
	if err != nil {
		return ""
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, maxSource)) // what could be read will do
	return string(text)
}
