package spec

import (
	"strings"
)

// urlForm matches a URL; a scheme of one letter is rather a file with a destination. A file of such a name is written ./NAME.
var urlForm = pattern(`^[A-Za-z][A-Za-z0-9+.-]+://`)

// hasScheme reports whether a URL is given instead of a path.
func hasScheme(path string) bool { return urlForm().MatchString(path) }

// checkURL refuses a URL instead of the path of a file or directory (what): nothing is downloaded for a run.
func checkURL(field, what, path string) error {
	if !hasScheme(path) {
		return nil
	}
	how := ""
	if url := withoutDestination(path); len(url) <= 200 && !strings.HasSuffix(url, "/") && !strings.Contains(url, "'") && (strings.HasPrefix(url, "http") || strings.HasPrefix(url, "ftp")) {
		how = " (curl -O '" + url + "')"
	}
	return badField(field, "%s is a URL, and a run fetches nothing: download it first%s, and give the %s", quote(path), how, what)
}

// withoutDestination takes off the :/DST that may follow a URL of an input.
func withoutDestination(url string) string {
	if i := strings.LastIndex(url, ":/"); i >= 0 && !strings.HasPrefix(url[i:], "://") {
		return url[:i]
	}
	return url
}
