package options

import (
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Absolute are values of a key as a config file in any directory can hold them: a path that is relative to dir becomes
// absolute, since one in a file is relative to the file. Other values stay.
func (k ConfigKey) Absolute(dir string, values []string) []string {
	var all []string
	for _, value := range values {
		all = append(all, k.absolute(dir, value))
	}
	return all
}

func (k ConfigKey) absolute(dir, value string) string {
	if value == "" { // is refused
		return value
	}
	switch name := k.Path[0]; name {
	case runtimesKey, key(allowBinds), "root", "tmp", "sign_key", "sign_public_key":
		return Absolute(dir, value)
	case "db":
		return absoluteURL("sqlite://", dir, value)
	case "blobs":
		return absoluteURL("file://", dir, value)
	case "events":
		if strings.HasPrefix(value, "fd:") {
			return value
		}
		return Absolute(dir, value)
	case "post_process", "sign_command":
		return absoluteCommand(dir, value)
	default:
		return absoluteField(name, dir, value)
	}
}

func absoluteURL(scheme, dir, value string) string {
	if rest, ok := strings.CutPrefix(value, scheme); ok && rest != "" {
		return scheme + Absolute(dir, rest)
	}
	return value
}

// absoluteCommand leaves names that are looked up in PATH, and what a shell's quotes are in.
func absoluteCommand(dir, command string) string {
	name, rest, more := strings.Cut(command, " ")
	if !strings.Contains(name, "/") || strings.ContainsAny(name, `'"\`) {
		return command
	}
	name = format.ShellQuote(Absolute(dir, name))
	if more {
		name += " " + rest
	}
	return name
}

// absoluteField is for the fields of an analysis, which tells a directory from a name.
func absoluteField(name, dir, value string) string {
	a := spec.Analysis{}
	if name == "input" {
		a.Inputs = []string{value}
		return a.ResolvePaths(dir).Inputs[0]
	}
	path := map[string]*string{
		"data": &a.Data, "docs": &a.Docs, "project": &a.Project, "stage": &a.Stage, "export": &a.Export,
		"rootfs": &a.Rootfs, "runtime": &a.Runtime,
	}[name]
	if path == nil {
		return value
	}
	*path = value
	a = a.ResolvePaths(dir)
	return *path
}
