package spec

import (
	"strings"
)

// digestPrefix marks an input as a blob. A file of such a name is written ./sha256:NAME.
const digestPrefix = "sha256:"

// URL prefixes of blob stores, and the separator between the store and a blob's digest.
const (
	s3Scheme   = "s3://"
	fileScheme = "file://"
	blobsBelow = "/sha256/"
)

// Digest is the SHA-256, in lower-case hexadecimal, of a blob input.
func (i Input) Digest() (sha256 string, ok bool) {
	if hex, ok := strings.CutPrefix(i.Source, digestPrefix); ok {
		return hex, true
	}
	_, hex, ok := cutURL(i.Source)
	return hex, ok
}

// Store is the URL of the blob store of an input given by URL; else "".
func (i Input) Store() string {
	store, _, _ := cutURL(i.Source)
	return store
}

// isBlob reports whether an input denotes a blob.
func isBlob(s string) bool { return strings.HasPrefix(s, digestPrefix) || isURL(s) }

func isURL(s string) bool { return strings.HasPrefix(s, s3Scheme) || strings.HasPrefix(s, fileScheme) }

// cutURL splits a URL into the store and the digest, with an optional suffix after a colon. It is not ok without a
// digest. Nothing is decoded: keys are used verbatim, as in the store.
func cutURL(s string) (store, rest string, ok bool) {
	if !isURL(s) {
		return "", "", false
	}
	for from := 0; ; {
		i := strings.Index(s[from:], blobsBelow)
		if i < 0 {
			return "", "", false
		}
		store, from = s[:from+i], from+i+len(blobsBelow)
		if hex, _, _ := strings.Cut(s[from:], ":"); isDigest(hex) {
			return store, s[from:], true
		}
	}
}

// splitBlob splits an input that isBlob. Without a digest it has no destination either.
func splitBlob(s string) (source, destination string, explicit bool) {
	store, rest, ok := cutURL(s)
	if !ok && isURL(s) {
		return s, "", false
	}
	before := store + blobsBelow
	if !ok {
		before, rest = digestPrefix, strings.TrimPrefix(s, digestPrefix)
	}
	hex, destination, explicit := strings.Cut(rest, ":")
	if explicit && destination != "" && !strings.HasPrefix(destination, "/") {
		destination = inputsDir + "/" + destination
	}
	if !explicit {
		destination = inputsDir + "/" + hex
	}
	return before + hex, destination, explicit || isDigest(hex)
}

// checkBlob refuses a blob source without a digest.
func checkBlob(source string) error {
	hex, ok := Input{Source: source}.Digest()
	switch {
	case ok && !isDigest(hex):
		return badField("input", "%s is no digest: write sha256: and 64 digits 0-9, a-f, then :NAME if it is to have one; a file of that name is ./%s", quote(source), source)
	case !ok && isURL(source):
		return badField("input", "%s names no digest: the URL of a blob ends with /sha256/ and 64 digits 0-9, a-f, then :NAME if it is to have one; fetch anything else, and give the file", quote(source))
	}
	return nil
}

func isDigest(hex string) bool {
	return len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// resolveSource makes an input's source absolute, or a blob store's directory.
func resolveSource(dir, source string) string {
	if rest, ok := strings.CutPrefix(source, fileScheme); ok {
		return fileScheme + resolve(dir, rest)
	}
	if isBlob(source) {
		return source
	}
	return resolve(dir, source)
}
