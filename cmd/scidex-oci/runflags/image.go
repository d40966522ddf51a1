package runflags

import (
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/spec"
)

// imageWord refuses an image that is given as the command, as docker run takes it.
func imageWord(a spec.Analysis) error {
	name := a.Command[0]
	if !isReference(name) {
		return nil
	}
	args := a.Command[1:]
	if len(args) == 0 {
		args = []string{"COMMAND"}
	}
	line := "run --rootfs " + name + " -- " + format.ShellLine(args...)
	return fmt.Errorf("%q reads like an image, not a command; name it with --rootfs: %s (\"scidex-oci image pull %s\" gets it first, \"scidex-oci image ls\" lists those that are there)",
		name, format.Line(line, 300), name)
}

// isReference reports whether a word has the form NAME:TAG of an image. Paths of this host are none.
func isReference(word string) bool {
	const lower, digits, marks = "abcdefghijklmnopqrstuvwxyz", "0123456789", "._-"
	name, tag, found := strings.Cut(word, ":")
	if host, path, port := strings.Cut(tag, "/"); port { // HOST:PORT/PATH:TAG
		name, tag, found = strings.Cut(path, ":")
		name = host + "/" + name
	}
	only := func(text, of string) bool { return text != "" && strings.Trim(text, of) == "" }
	return found && only(name, lower+digits+marks+"/") && only(tag, lower+strings.ToUpper(lower)+digits+marks) &&
		!strings.ContainsAny(name[:1], marks+"/")
}
