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

// Directories of a crate: with them no name that an analysis chose can be that of a file of ours.
const (
	outputsDir = "outputs"
	logsDir    = "logs"
	scriptDir  = "script"
	renamed    = "-renamed" // ends the name of the directory for what lies in one of them under another name
)

// componentMax is how long a name may be on the file systems of others, in bytes.
const componentMax = 200

// safePath returns a path for a name of any bytes: relative, UTF-8, with no component that any system takes for something
// else, below dir. A name that cannot stay as it is gets one with its digest in a directory beside that, where nobody else
// names anything, so that two never become one.
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

// safeComponent replaces what is not safe by an underscore.
func safeComponent(part string) string {
	safe := strings.Map(func(r rune) rune {
		// Windows takes these for separators, devices or wildcards, and an archive may be read there.
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
