package app

import (
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scidex-ai/scidex-oci/spec"
)

// manifestTitles are those of the groups, in the order of a manifest.
var manifestTitles = []struct {
	group string
	title string
}{
	{spec.GroupProgram, "The program"},
	{spec.GroupInputs, "What it reads; there is no network"},
	{spec.GroupOutputs, "What it makes: files in /work, its working directory"},
	{spec.GroupLimits, "Limits"},
	{spec.GroupRunning, "The run"},
}

// writeManifest writes the manifest of a script. The path of the script is relative to the manifest's directory. call is the command that
// runs the manifest.
func writeManifest(w io.Writer, script, call string) error {
	value, err := yaml.Marshal(script)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Run it: %s\n#\n# Fields are the flags of run with underscores. One with a # before it is not set: it shows the default, or an example\n"+
		"# if there is none. Relative paths start at the directory of this file.\n\n", call)
	fmt.Fprintf(&b, "# run by its first line (#!) or its extension\nscript: %s\n", value[:len(value)-1])
	for _, t := range manifestTitles {
		fmt.Fprintf(&b, "\n\n## %s\n", t.title)
		for _, f := range spec.Fields() {
			if f.Group == t.group && f.Name != "script" {
				fmt.Fprintf(&b, "\n# %s\n#%s: %s\n", f.About, f.Name, f.Sample())
			}
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}
