package hints

// refusal is how programs say that they lack privileges, or cannot install packages.
var refusal = pattern(`(?m)(^(?:sudo|su|doas): |\b(?:sudo|doas|apt|apt-get|yum|dnf|conda|mamba): (?:command )?not found|are you root\?|[Mm]ust be (?:run as )?(?:superuser|root)\b|requires superuser privilege|` +
	`Permission(?:Error: .*| denied:?) '/(?:etc|root|usr|opt)/|error: externally-managed-environment|No matching distribution found for |CondaHTTPError|^E: Unable to (?:locate package|fetch)|` +
	`unable to access index for repository|^(?:Error in install\.packages\(|Warning in install\.packages\([^\n]*\n[^\n]*is not writable)|^package [‘'][^’'\n]+[’'] is not available|trying to use CRAN without setting a mirror)`)

// noPrivileges says where packages are to be installed.
func noPrivileges(f Facts) string {
	if f.seen(refusal) == "" {
		return ""
	}
	return "a run cannot gain privileges or install packages: install them on the host, in a virtual or conda environment for --runtime DIR, or in an image for --rootfs"
}
