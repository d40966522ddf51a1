package crate

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MetadataFile describes the crate, and is at its root.
const MetadataFile = "ro-crate-metadata.json"

// Directories of a crate: they keep names that an analysis chose apart from those of scidex-oci.
const (
	outputsDir = "outputs"
	logsDir    = "logs"
	scriptDir  = "script"
	renamed    = "-renamed" // suffix of the directory for files of one of them under another name
)

// componentMax is the limit of a name on other file systems, in bytes.
const componentMax = 200

// safePath returns a path for a name of any bytes: relative, UTF-8, with no component that is special on any system,
// below dir. A name that must change gets one with its digest in a separate directory next to dir, so that no two names
// collide.
func safePath(dir string, original []byte) (path string, changed bool) {
	var last string
	for part := range strings.SplitSeq(string(original), "/") {
		last = safeComponent(part)
		changed = changed || last != part
	}
	if !changed {
		return dir + "/" + string(original), false
	}
	sum := sha256.Sum256(original)
	return dir + renamed + "/" + hex.EncodeToString(sum[:16]) + "-" + last, true
}

// OutputPath is the path of an output in a crate.
func OutputPath(name []byte) string { return pathIn(outputsDir, name) }

// LogPath is that of a stream's file.
func LogPath(name string) string { return pathIn(logsDir, []byte(name)) }

// ScriptPath is that of the script.
func ScriptPath(name string) string { return pathIn(scriptDir, []byte(name)) }

func pathIn(dir string, name []byte) string {
	path, _ := safePath(dir, name)
	return path
}

// safeComponent replaces unsafe characters by underscores.
func safeComponent(part string) string {
	safe := strings.Map(func(r rune) rune {
		// On Windows these are separators, devices or wildcards, and an archive may be read there.
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(`\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(part, "_"))
	for len(safe) > componentMax {
		_, size := utf8.DecodeLastRuneInString(safe)
		safe = safe[:len(safe)-size]
	}
	if strings.Trim(safe, ". ") == "" || strings.HasSuffix(safe, ".") || strings.HasSuffix(safe, " ") {
		return "_" + strings.ReplaceAll(strings.ReplaceAll(safe, ".", "_"), " ", "_")
	}
	return safe
}

// idOf is the @id of a file: its path as a relative reference (RFC 3986).
func idOf(path string) string {
	var parts []string
	for part := range strings.SplitSeq(path, "/") {
		parts = append(parts, url.PathEscape(part))
	}
	return strings.Join(parts, "/")
}
