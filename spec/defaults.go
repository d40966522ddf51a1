package spec

import (
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Values of fields with a few choices.
const (
	None = "none" // data, docs, runtime: bind nothing

	RootfsHost = "host"

	IDsRange = "range"
	IDsSelf  = "self"

	WorkDisk  = "disk"
	WorkTmpfs = "tmpfs"

	LimitsEnforce    = "enforce"
	LimitsOuter      = "outer"
	LimitsBestEffort = "best-effort"

	DigestScript  = "script"
	DigestListing = "listing"
	DigestFull    = "full"

	PreloadAuto = "auto"

	KeepNever  = "never"
	KeepFailed = "failed"
	KeepAlways = "always"
)

// WithDefaults returns the analysis with all unset limits and choices filled in. The id and IDs stay: the runner makes
// the id, and chooses IDs by what the host offers.
func (a Analysis) WithDefaults() Analysis {
	or(&a.Memory, 2*GiB)
	or(&a.CPUs, 1)
	or(&a.Pids, 100)
	or(&a.Timeout, Duration(30*time.Minute))
	or(&a.Grace, Duration(5*time.Second))
	or(&a.LogSize, 16*MiB)
	or(&a.WorkSize, GiB)
	or(&a.WorkFiles, 100_000)
	or(&a.WorkStorage, WorkDisk)
	or(&a.Limits, LimitsEnforce)
	or(&a.DigestInputs, DigestListing)
	or(&a.Keep, KeepNever)
	or(&a.Rootfs, RootfsHost)
	if a.Requests() {
		or(&a.Upload, MiB)
	}
	if a.Workdir == workDir {
		a.Workdir = ""
	}
	if a.Exclude == nil {
		a.Exclude = []string{"__pycache__", "*.pyc"}
	}
	return a
}

// BindsSomething reports whether the analysis reads anything of the host besides its script and programs.
func (a Analysis) BindsSomething() bool {
	return a.Data != None && a.Data != "" || a.Docs != None && a.Docs != "" || a.Project != "" || len(a.Inputs) > 0 || a.Stage != "" ||
		a.Runtime != None && a.Runtime != ""
}

func or[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// ResolvePaths returns the analysis with absolute host paths; relative ones are relative to dir, which must be absolute.
// Inputs get explicit destinations, so that they do not depend on dir.
func (a Analysis) ResolvePaths(dir string) Analysis {
	for _, path := range []*string{&a.Script, &a.Project, &a.Stage, &a.Export} {
		*path = resolve(dir, *path)
	}
	for _, path := range []*string{&a.Data, &a.Docs} {
		if *path != None {
			*path = resolve(dir, *path)
		}
	}
	if a.RootfsDirectory() {
		a.Rootfs = resolve(dir, a.Rootfs)
	}
	a.Runtime = runtimePath(dir, a.Runtime)
	a.Inputs = slices.Clone(a.Inputs)
	for i, input := range a.Inputs {
		a.Inputs[i] = resolveInput(dir, input)
	}
	return a
}

// resolveInput leaves invalid inputs unchanged for Validate.
func resolveInput(dir, input string) string {
	source, destination, explicit := splitInput(input)
	if source == "" || !explicit && (strings.HasSuffix(source, ":") || isBlob(source) || hasScheme(source)) {
		return input
	}
	source = resolveSource(dir, source)
	if !explicit {
		destination = defaultDestination(source)
	}
	return Input{Source: source, Destination: destination}.String()
}

func resolve(dir, path string) string {
	if path == "" || hasScheme(path) {
		return path
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// NewID makes an id from the creation time and four random bytes: "20261121T010203-1a2b3c4d". Ids of different seconds
// sort by time.
func NewID(now time.Time, random [4]byte) string {
	return now.UTC().Format("20060102T150405") + "-" + hex.EncodeToString(random[:])
}
