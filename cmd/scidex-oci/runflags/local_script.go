package runflags

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/spec"
)

// localScript refuses a script of the caller's directory that is given as a command: the analysis does not see it.
func (k Parser) localScript(a spec.Analysis) error {
	name := a.Command[0]
	if filepath.Ext(name) == ".jsonl" && isRegular(filepath.Join(k.Dir, name)) {
		return fmt.Errorf("%s is a file of requests, not a command: \"batch %s\" runs its lines", format.Line(name, 200), format.ShellQuote(name))
	}
	if !spec.HasInterpreter(name) || seenInside(a, name) || !isRegular(options.Absolute(k.Dir, name)) {
		return nil
	}
	line := "--script " + format.ShellQuote(name)
	if args := a.Command[1:]; len(args) > 0 {
		line += " -- " + format.ShellLine(args...)
	}
	where := "is in your directory, which"
	if filepath.IsAbs(name) {
		where = "is a file of the host that"
	}
	return fmt.Errorf("%s %s the analysis does not see; give it as a script: %q", format.Line(name, 200), where, line)
}

// seenInside reports whether the analysis may find a file of its own by the name: in /work, or in a PATH that is not known here.
func seenInside(a spec.Analysis, name string) bool {
	if filepath.IsAbs(name) {
		return a.Rootfs != "" && a.Rootfs != spec.RootfsHost || a.Shows(filepath.Clean(name))
	}
	if !filepath.IsLocal(name) || a.Stage != "" {
		return true
	}
	first, _, deep := strings.Cut(filepath.Clean(name), "/")
	if deep || strings.HasPrefix(name, "./") {
		return deep && slices.Contains([]string{"data", "docs"}, first) // links in /work
	}
	return a.Env["PATH"] != "" || a.Runtime != "" || a.Rootfs != "" && a.Rootfs != "host" || inHostPath(name)
}

// inHostPath reports whether a program is where PATH leads on the host's root filesystem.
func inHostPath(name string) bool {
	return slices.ContainsFunc([]string{"/usr/local/bin", "/usr/bin", "/bin"}, func(dir string) bool {
		return isRegular(filepath.Join(dir, name))
	})
}

func isRegular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
