package newcmd

import (
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scidex-ai/scidex-oci/spec"
)

// field is a field of the manifest: what a comment says, and its default or an example as one line of YAML.
type field struct{ name, about, value string }

// group is what belongs together.
type group struct {
	title  string
	fields []field
}

// groups are all fields of a manifest but the script.
func groups() []group {
	a := spec.Analysis{}.WithDefaults()
	return []group{
		{"The program", []field{
			{"args", "arguments of the script", `["--order", "2"]`},
			{"command", "a program and its arguments, in place of script and args", `[sort, -rn, /data/all.txt]`},
			{"env", "variables; their values are kept with the run and shown", `{LEVEL: "3"}`},
			{"secrets", "variables of the caller that are passed on; only their names are kept", `[API_KEY]`},
			{"workdir", "a fresh path inside where /work is shown too, and where the program starts", "/job"},
			{"rootfs", "host: the programs of this host; else the name of an image or a directory", a.Rootfs},
			{"runtime", "a venv, a conda environment or another directory whose bin comes first in PATH, or none", spec.None},
			{"deterministic", "true: one thread for numeric libraries, SCIDEX_RNG_SEED=0, no random addresses", "false"},
		}},
		{"What it reads; there is no network", []field{
			{"data", "a directory to show at /data (SCIDEX_DATA_DIR), or none; unset: data in the current directory, where it exists", "data"},
			{"docs", "a directory to show at /docs (SCIDEX_DOCS_DIR), or none; unset: docs in the current directory, where it exists", "docs"},
			{"inputs", "files to show in /inputs, or SOURCE:/DESTINATION", `[table.csv, "models:/models"]`},
			{"project", "a directory to show at /analysis, for a script that imports its neighbours", "."},
			{"stage", "a directory whose files are copied into /work before the start", "start"},
		}},
		{"What it makes: files in /work, its working directory", []field{
			{"outputs", "what must be there in the end, or the run has failed", `["*.csv", "plots/**/*.svg"]`},
			{"exclude", "files that are not kept", list(a.Exclude)},
			{"export", "a directory that gets copies of the outputs", "out"},
			{"keep", "never, failed or always: when the working directory stays on the host too", a.Keep},
		}},
		{"Limits", []field{
			{"memory", "of all its processes together; there is no swap", a.Memory.String()},
			{"cpus", "processor cores", fmt.Sprint(a.CPUs)},
			{"pids", "processes and threads", fmt.Sprint(a.Pids)},
			{"timeout", "from start to end", a.Timeout.String()},
			{"grace", "from the request to end until it is killed", a.Grace.String()},
			{"log_size", "kept of standard output, and of standard error", a.LogSize.String()},
			{"work_size", "files in /work", a.WorkSize.String()},
			{"work_files", "names in /work", fmt.Sprint(a.WorkFiles)},
			{"work_storage", "disk, or tmpfs: /work is memory of the run", a.WorkStorage},
			{"allow_hosts", "hosts that it may send HTTP requests to, by a proxy; your config file must permit them", "[rest.uniprot.org]"},
			{"allow_upload", "what all requests together may send", "1MiB"},
			{"limits", "enforce: no run where a limit cannot be enforced; outer: rely on the batch job or container around; best-effort: hold what can be held", a.Limits},
		}},
		{"The run", []field{
			{"id", "its name; unset: made from the time", "fit-1"},
			{"labels", "to find it by", "{project: brain}"},
			{"ids", "range: user ids of its own (default where there are some); self: yours", spec.IDsRange},
			{"preload", "auto, none or modules: what a script that waits in a batch or on a worker imports meanwhile", spec.PreloadAuto},
			{"warm", "auto or none: does nothing any more", spec.PreloadAuto},
			{"digest_inputs", "script, listing or full: what of the inputs the result has digests of", a.DigestInputs},
		}},
	}
}

func list(words []string) string {
	return `["` + strings.Join(words, `", "`) + `"]`
}

// write writes the manifest of a script. Its path starts at the directory of the manifest, which call runs.
func write(w io.Writer, script, call string) error {
	value, err := yaml.Marshal(script)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Run it: %s\n#\n# Fields are the flags of run with underscores. One with a # before it is not set: it shows the default, or an example\n"+
		"# where there is none. Relative paths start at the directory of this file.\n\n", call)
	fmt.Fprintf(&b, "# run by its first line (#!) or its extension\nscript: %s\n", value[:len(value)-1])
	for _, g := range groups() {
		fmt.Fprintf(&b, "\n\n## %s\n", g.title)
		for _, f := range g.fields {
			fmt.Fprintf(&b, "\n# %s\n#%s: %s\n", f.about, f.name, f.value)
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}
