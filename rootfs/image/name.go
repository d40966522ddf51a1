package image

import (
	"fmt"
	"regexp"
	"strings"
)

// maxName bounds a name in bytes, as for registry references.
const maxName = 255

// wellFormed is a short name, or a reference by distribution-spec: [HOST[:PORT]/]PATH[:TAG][@DIGEST].
const wellFormed = `^(([a-zA-Z0-9.-]+|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?/)?` +
	`[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*` +
	`(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$`

// CheckName refuses an invalid image name: it must be one word of [a-z0-9._-], or a reference as for "image pull". "host"
// is the host's root filesystem, and "/" or "." start a directory.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("an image needs a name; give one of a-z, 0-9, '.', '_' and '-'")
	case name == "host":
		return fmt.Errorf(`the name "host" means the root filesystem of the host; give another`)
	case len(name) > maxName:
		return fmt.Errorf("the name of an image has %d characters; give at most %d", len(name), maxName)
	case isPath(name) || !matches(wellFormed, name):
		return fmt.Errorf("%q is no name of an image; give one of a-z, 0-9, '.', '_' and '-' that begins with a letter or digit, or a reference HOST/PATH:TAG", name)
	}
	return nil
}

// matches compiles the pattern here: few commands need it.
func matches(pattern, name string) bool {
	return regexp.MustCompile(pattern).MatchString(name)
}

// isPath reports whether the given root filesystem is a directory, not a name.
func isPath(given string) bool {
	return strings.HasPrefix(given, "/") || given == "." || given == ".." ||
		strings.HasPrefix(given, "./") || strings.HasPrefix(given, "../")
}
