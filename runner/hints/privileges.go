package hints

import (
	"path"
	"slices"
	"strings"
)

// gainers are programs that give privileges, installers those that install packages.
var (
	gainers    = []string{"sudo", "su", "doas"}
	installers = []string{"apt", "apt-get", "yum", "dnf", "apk", "conda", "mamba"}
)

var (
	// noRoot is how programs say that they lack privileges, noInstall that they cannot install packages.
	noRoot = pattern(`(?m)(^(?:` + strings.Join(gainers, "|") + `): |\b(?:sudo|doas): (?:command )?not found|[Mm]ust be (?:run as )?(?:superuser|root)\b|` +
		`Permission(?:Error: .*| denied:?) '/(?:etc|root|usr|opt)/)`)
	noInstall = pattern(`(?m)(\b(?:` + strings.Join(installers, "|") + `): (?:command )?not found|are you root\?|requires superuser privilege|` +
		`error: externally-managed-environment|No matching distribution found for |CondaHTTPError|^E: Unable to (?:locate package|fetch)|^E: [^\n]* - \w+ \(\d+: |` +
		`unable to access index for repository|^(?:Error in install\.packages\(|Warning in install\.packages\([^\n]*\n[^\n]*is not writable)|^package [‘'][^’'\n]+[’'] is not available|trying to use CRAN without setting a mirror)`)
)

// noPrivileges says how to do without, and where packages are to be installed.
func noPrivileges(f Facts) string {
	missing := path.Base(f.missing())
	switch {
	case f.seen(noInstall) != "", slices.Contains(installers, missing):
		return "a run cannot install packages: install them on the host, in a virtual or conda environment for --runtime DIR, or in an image for --rootfs"
	case f.seen(noRoot) != "", slices.Contains(gainers, missing):
		return "a run cannot gain privileges: leave out sudo and what only root may do"
	}
	return ""
}
