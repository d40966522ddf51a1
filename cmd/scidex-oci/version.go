package main

import (
	"cmp"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
)

// Set by scripts/build with -ldflags "-X main.version=...".
var version, commit, date string

// build says what this binary was made from. Unknown fields are empty.
type build struct{ version, commit, date, goVersion, runc string }

// buildInfo prefers what the linker was told to what the toolchain recorded.
func buildInfo() build {
	b := build{version: version, commit: commit, date: date, goVersion: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if ok {
		b.fill(info)
	}
	b.version = cmp.Or(b.version, b.unreleased())
	return b
}

// unreleased is the version of a build between releases. Results and crates have the version alone, so that it names the
// commit where that is known.
func (b build) unreleased() string {
	if b.commit == "" {
		return "devel"
	}
	return "devel-" + b.commit
}

func (b *build) fill(info *debug.BuildInfo) {
	if info.Main.Version != "(devel)" {
		b.version = cmp.Or(b.version, info.Main.Version)
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.commit = cmp.Or(b.commit, setting.Value)
		case "vcs.time":
			b.date = cmp.Or(b.date, setting.Value)
		}
	}
	for _, dep := range info.Deps {
		if dep.Path == "github.com/opencontainers/runc" {
			b.runc = dep.Version
		}
	}
}

// print writes one line a field, the version first.
func (b build) print(w io.Writer) error {
	text := "scidex-oci " + b.version + "\n"
	for _, field := range []struct{ name, value string }{
		{"commit", b.commit},
		{"built", b.date},
		{"go", strings.TrimPrefix(b.goVersion, "go")},
		{"libcontainer (runc)", b.runc},
	} {
		if field.value != "" {
			text += field.name + " " + field.value + "\n"
		}
	}
	_, err := io.WriteString(w, text)
	return err
}
