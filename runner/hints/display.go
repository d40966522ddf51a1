package hints

import (
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

var (
	noScreen = pattern(`(no display name and no \$DISPLAY|Cannot load backend '\w+' which requires|[Cc]ould(?: not|n't) connect to display|` +
		`[Cc]an(?:'t|not) open display|unable to open connection to X11 display|unable to start device X11)`)
	// notShown is matplotlib's warning.
	notShown = pattern(`(?:is non-interactive, and thus cannot be shown|is a non-GUI backend, so cannot show)`)
)

const saveFigure = `save figures with savefig("name.png") in the working directory, /work`

// noDisplay is for programs that want a window, and for figures that were shown in none.
func noDisplay(f Facts) string {
	switch {
	case f.find(noScreen) == "" && !f.onlyShown():
		return ""
	case f.onlyShown():
		return "a run has no display, so show() shows nothing: " + saveFigure
	case strings.Contains(f.Ended.StderrEnd, "matplotlib"):
		return `a run has no display: leave out matplotlib.use(), or use "Agg", and ` + saveFigure
	}
	return "a run has no display: write figures to files in the working directory, /work"
}

// onlyShown reports whether the analysis showed figures of matplotlib, and wrote no file.
func (f Facts) onlyShown() bool {
	return f.Outcome.State == outcome.Complete && f.Outputs == 0 && notShown().MatchString(f.Ended.StderrEnd)
}
