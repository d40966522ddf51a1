package spec

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Input is a read-only bind in the request.
type Input struct {
	Source      string // host file or directory; or a blob, by sha256:HEX or its URL in the blob store
	Destination string // absolute and clean path inside
}

// String returns the form for ParseInput, with an explicit destination.
func (i Input) String() string { return i.Source + ":" + i.Destination }

// inputsDir holds inputs without a destination.
const inputsDir = "/inputs"

// taken are directories of the container with another use; an input cannot be, contain or be in one of them. /var/tmp is
// /tmp, and programs expect what is in /run below /var too.
var taken = [...]string{
	"/analysis", "/bin", "/boot", "/data", "/dev", "/docs", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32",
	"/proc", "/root", "/run", "/sbin", "/sys", "/tmp", "/usr", "/var/lock", "/var/run", "/var/tmp", "/work",
}

// ParseInput reads "SRC" or "SRC:DST". DST starts at the last ":/", so that a source may have colons; without DST the
// input is at /inputs/ and the base name of SRC. A blob is "sha256:HEX", "sha256:HEX:DST" or "sha256:HEX:NAME" for
// /inputs/NAME; instead of sha256:HEX it may be a blob's URL in the blob store.
func ParseInput(s string) (Input, error) {
	source, destination, explicit := splitInput(s)
	if err := checkText("input", s); err != nil {
		return Input{}, err
	}
	if err := checkBlob(source); err != nil {
		return Input{}, err
	}
	if !isBlob(source) {
		if err := checkURL("input", "file", source); err != nil {
			return Input{}, err
		}
	}
	switch {
	case source == "":
		return Input{}, badField("input", "%s names no source: write SRC or SRC:DST", quote(s))
	case !explicit && strings.HasSuffix(s, ":"):
		return Input{}, badField("input", "%s has an empty destination: write SRC or SRC:/inputs/NAME", quote(s))
	case !explicit:
		destination = defaultDestination(source)
	}
	if destination == "" {
		return Input{}, badField("input", "%s has no name of its own: write %s:/inputs/NAME", quote(s), source)
	}
	if err := checkDestination(destination); err != nil {
		return Input{}, badField("input", "%s: %v", quote(s), err)
	}
	return Input{Source: source, Destination: destination}, nil
}

func splitInput(s string) (source, destination string, explicit bool) {
	if isBlob(s) {
		return splitBlob(s)
	}
	if hasScheme(s) {
		return s, "", false
	}
	if i := strings.LastIndex(s, ":/"); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// defaultDestination is "" for a source without a name, such as "." or "/".
func defaultDestination(source string) string {
	name := filepath.Base(source)
	if name == "." || name == ".." || name == "/" {
		return ""
	}
	return path.Join(inputsDir, name)
}

func checkDestination(destination string) error {
	if before, mode, docker := cutMode(destination); docker {
		return fmt.Errorf("destination %s ends with docker's :%s: write %s; inputs are always read-only", quote(destination), mode, quote(before))
	}
	if err := checkFresh(destination, "one below /inputs or a fresh one such as /models"); err != nil {
		return fmt.Errorf("destination %w", err)
	}
	return nil
}

// checkFresh refuses a path inside that cannot be a mount point of the request's. The error starts with the path; instead is what to
// choose.
func checkFresh(p, instead string) error {
	if path.Clean(p) != p {
		return fmt.Errorf("%s is not in its simplest form: write %s", quote(p), quote(path.Clean(p)))
	}
	if strings.ContainsFunc(p, isControl) {
		return fmt.Errorf("%s has a control character", quote(p))
	}
	if p == "/" || p == inputsDir {
		return fmt.Errorf("%s would hide others: choose %s", quote(p), instead)
	}
	for _, dir := range taken {
		if within(p, dir) {
			return fmt.Errorf("%s lies in %s, which has its own use: choose %s", quote(p), dir, instead)
		}
		if within(dir, p) {
			return fmt.Errorf("%s would hide %s, which has its own use: choose %s", quote(p), dir, instead)
		}
	}
	return nil
}

// cutMode takes off the mode of docker's volumes, SRC:DST:ro.
func cutMode(destination string) (before, mode string, found bool) {
	for _, mode := range []string{"ro", "rw"} {
		if before, found := strings.CutSuffix(destination, ":"+mode); found {
			return before, mode, true
		}
	}
	return destination, "", false
}

// within reports whether p is dir or below it; both are clean and absolute.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, dir+"/")
}

// parseInputs parses all inputs and refuses two if one hides the other.
func parseInputs(inputs []string) ([]Input, error) {
	parsed := make([]Input, 0, len(inputs))
	for _, s := range inputs {
		input, err := ParseInput(s)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, input)
	}
	// With '/' sorted first, a directory's contents follow it directly; otherwise "a-b" would be between "a" and "a/b".
	sorted := slices.SortedFunc(slices.Values(parsed), func(x, y Input) int {
		return strings.Compare(strings.ReplaceAll(x.Destination, "/", "\x00"), strings.ReplaceAll(y.Destination, "/", "\x00"))
	})
	for i := 1; i < len(sorted); i++ {
		if within(sorted[i].Destination, sorted[i-1].Destination) {
			return nil, fmt.Errorf("inputs %s and %s share the destination %s: give one of them another, as SRC:/inputs/NAME",
				quote(sorted[i-1].Source), quote(sorted[i].Source), quote(sorted[i-1].Destination))
		}
	}
	return parsed, nil
}

// ParseInputs parses the analysis' inputs in order; errors are those of ParseInput, and two inputs if one hides the
// other.
func (a Analysis) ParseInputs() ([]Input, error) { return parseInputs(a.Inputs) }

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }
