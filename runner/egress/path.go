package egress

import (
	"encoding/hex"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escapable are the characters of ASCII that a path may have as escapes. They mean the same to servers that unescape a path before they
// look at it as to those that do not; so '/', '.', '\\', '%', ';', '?', '#' and control characters are not among them, nor what needs no
// escape (RFC 3986, section 6.2.2.2).
const escapable = " !\"$&'()*+,:<=>@[]^`{|}"

// PlainPath reports whether all servers agree on what an escaped path names: they unescape it at different times, and leave out or
// replace different parts.
func PlainPath(path string) bool {
	unescaped, err := url.PathUnescape(path)
	if err != nil || !utf8.ValidString(unescaped) || strings.ContainsFunc(unescaped, isOdd) || !plainEscapes(path) {
		return false
	}
	names := strings.Split(unescaped, "/")
	last := len(names) - 1
	if last < 1 || names[0] != "" {
		return false
	}
	if names[last] == "" { // it ends with '/'
		last--
	}
	for _, name := range names[1 : last+1] {
		if !plainName(name) {
			return false
		}
	}
	return true
}

// plainEscapes reports whether a path, which can be unescaped, has only escapes of escapable characters and of some beyond ASCII.
func plainEscapes(path string) bool {
	for _, escape := range strings.Split(path, "%")[1:] {
		c, err := hex.DecodeString(escape[:2])
		if err != nil || c[0] < utf8.RuneSelf && !strings.ContainsRune(escapable, rune(c[0])) {
			return false
		}
	}
	return true
}

// isOdd reports whether servers may leave a character out or take it for another. Beyond ASCII only letters and decimal digits are not:
// Unicode and code pages have others that are equivalent to '.', '/' or a backslash.
func isOdd(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '\\' || unicode.IsControl(r)
	}
	return !unicode.IsLetter(r) && !unicode.Is(unicode.Nd, r)
}

// plainName reports whether a part of a path names something in its directory, also to a server that cuts off what follows ';' or ':', or
// dots and spaces at the end.
func plainName(name string) bool {
	name, _, _ = strings.Cut(name, ";")
	if at := strings.IndexByte(name, ':'); at > 0 {
		name = name[:at]
	}
	return strings.Trim(name, ". ") != ""
}
