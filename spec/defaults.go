package spec

import (
	"encoding/hex"
	"path/filepath"
	"reflect"
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
	for _, f := range fields {
		if to := f.in(&a); f.unset != nil && to.IsZero() {
			to.Set(reflect.ValueOf(f.unset))
		}
	}
	a.Exclude = slices.Clone(a.Exclude)
	if a.Requests() && a.Upload == 0 {
		a.Upload = MiB
	}
	if a.Workdir == workDir {
		a.Workdir = ""
	}
	return a
}

// BindsSomething reports whether the analysis reads anything of the host other than its script and programs.
func (a Analysis) BindsSomething() bool {
	return a.Data != None && a.Data != "" || a.Docs != None && a.Docs != "" || a.Project != "" || len(a.Inputs) > 0 || a.Stage != "" ||
		a.Runtime != None && a.Runtime != ""
}

// ResolvePaths returns the analysis with absolute host paths; relative ones are relative to dir, which must be absolute.
// Inputs get explicit destinations, so that they do not depend on dir.
func (a Analysis) ResolvePaths(dir string) Analysis {
	for _, f := range fields {
		if f.resolve == nil {
			continue
		}
		switch at := f.At(&a).(type) {
		case *string:
			*at = f.resolve(dir, *at)
		case *[]string:
			*at = slices.Clone(*at)
			for i, value := range *at {
				(*at)[i] = f.resolve(dir, value)
			}
		}
	}
	return a
}

// resolveGiven leaves none.
func resolveGiven(dir, path string) string {
	if path == None {
		return path
	}
	return resolve(dir, path)
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
