package command

import (
	"cmp"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
)

// Build is what a binary was made from. Unknown fields are empty.
type Build struct{ Version, Commit, Date, GoVersion, RunC string }

// ReadBuild fills in what the linker did not set from the toolchain's record.
func ReadBuild(version, commit, date string) Build {
	b := Build{Version: version, Commit: commit, Date: date, GoVersion: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.fill(info)
	}
	b.Version = cmp.Or(b.Version, b.unreleased())
	return b
}

func (b *Build) fill(info *debug.BuildInfo) {
	if info.Main.Version != "(devel)" {
		b.Version = cmp.Or(b.Version, info.Main.Version)
	}
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

// unreleased is the version of a build between releases. Results and crates have only the version, so it names the commit
// if that is known.
func (b Build) unreleased() string {
	if b.Commit == "" {
		return "devel"
	}
	return "devel-" + b.Commit
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
