package fontlist

import (
	"io"
	"regexp"
	"sync"

	"github.com/scidex-ai/scidex-oci/spec"
)

// plots finds what imports matplotlib in a script or notebook. What it misses makes its own list, as before.
var plots = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(?:matplotlib|pylab|seaborn|plotnine)\b`) })

// maxScript is how much of a script is searched, in bytes.
const maxScript = 1 << 20

// Wanted reports whether a script seems to plot with matplotlib, whose cache directory is scidex-oci's.
func Wanted(a spec.Analysis, script io.ReaderAt) bool {
	if _, own := a.Env["MPLCONFIGDIR"]; own {
		return false
	}
	text, err := io.ReadAll(io.NewSectionReader(script, 0, maxScript))
	return err == nil && plots().Match(text)
}
