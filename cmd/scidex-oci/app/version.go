package app

import "github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"

// Set by scripts/build with -ldflags "-X ...app.version=...".
var version, commit, date string

// buildInfo is what this binary was made from.
func buildInfo() command.Build { return command.ReadBuild(version, commit, date) }
