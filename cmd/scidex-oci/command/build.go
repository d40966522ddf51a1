package command

import (
	"cmp"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
)

// Version is the one place of scidex-oci's version: scripts/release reads it here. Between releases it is the next one's,
// with -dev at its end.
const Version = "0.1.0"

// Set by scripts/build with -ldflags "-X ...command.commit=...".
var commit, date string

// Build is what a binary was made from. Unknown fields are empty.
type Build struct{ Version, Commit, Date, GoVersion, RunC string }

// ReadBuild describes this binary. What the linker did not set is from the toolchain's record.
func ReadBuild() Build {
	b := Build{Commit: commit, Date: date, GoVersion: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.fill(info)
	}
	b.Version = buildVersion(Version, b.Commit)
	return b
}

// buildVersion adds the commit to the version of a build that is no release, since results and crates have only the version.
func buildVersion(version, commit string) string {
	if commit != "" && (strings.HasSuffix(version, "-dev") || strings.HasSuffix(commit, "-dirty")) {
		return version + "+" + commit
	}
	return version
}

func (b *Build) fill(info *debug.BuildInfo) {
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = cmp.Or(b.Commit, setting.Value)
		case "vcs.time":
			b.Date = cmp.Or(b.Date, setting.Value)
		}
	}
	for _, dep := range info.Deps {
		if dep.Path == "github.com/opencontainers/runc" {
			b.RunC = dep.Version
		}
	}
}

// Print writes one line a field, the version first.
func (b Build) Print(w io.Writer) error {
	text := "scidex-oci " + b.Version + "\n"
	for _, field := range []struct{ name, value string }{
		{"commit", b.Commit},
		{"built", b.Date},
		{"go", strings.TrimPrefix(b.GoVersion, "go")},
		{"libcontainer (runc)", b.RunC},
	} {
		if field.value != "" {
			text += field.name + " " + field.value + "\n"
		}
	}
	_, err := io.WriteString(w, text)
	return err
}
