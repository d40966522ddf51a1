package hints

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/spec"
)

var (
	networkError = pattern(`([Tt]emporary failure in name resolution|Name or service not known|No address associated with hostname|` +
		`[Cc]ould(?: not|n't) resolve host|unable to resolve host address|Network is unreachable|Connection refused|getaddrinfo)`)
	noModule = pattern(`(?m)(?:(?:ModuleNotFoundError: |^[^\n]*: )No module named '?([^'\s]+)'?|` +
		`ImportError: (?:Unable to find a usable engine; tried using: |Missing optional dependency )'(\w+)')`) // the second is of pandas
	noRPack     = pattern(`there is no package called [‘']([^’'\n]+)[’']`)
	noPerlMod   = pattern(`Can't locate (\S+)\.pm in @INC`)
	noNodePack  = pattern(`(?m)^Error(?: \[\w+\])?: Cannot find (?:module|package) '([^'\n]+)'`)
	endOfInput  = pattern(`(?m)^(EOFError: EOF when reading a line)`)
	noFrontend  = pattern(`(StdinNotImplementedError)`)
	otherDevice = pattern(`([Ii]nvalid cross-device link|cross-device link not permitted)`)
	outOfSpace  = pattern(`(No space left on device)`)
	noWrite     = pattern(`(?m)` + failedWith(`Read-only file system`))
)

func noNetwork(f Facts) string {
	if f.find(networkError) == "" || noPrivileges(f) != "" {
		return ""
	}
	if a := f.Ended.Analysis; a.Requests() {
		return "this run reaches only " + strings.Join(a.AllowHosts, ", ") + ", by HTTP through the proxy that http_proxy names"
	}
	return "runs have no network: download first, then pass the files with --data DIR or --input FILE, or send requests to named hosts with --allow-host"
}

func moduleMissing(f Facts) string {
	if notebookPackages(f) != "" || noPrivileges(f) != "" {
		return ""
	}
	if name := f.find(noModule); name != "" {
		top, _, _ := strings.Cut(name, ".")
		if beside := f.besideScript(top+".py", top+"/__init__.py"); beside != "" {
			return beside
		}
		return fmt.Sprintf("Python has no module %q: %s; %s", top, f.installed(top), f.ownModule())
	}
	if name := f.find(noRPack); name != "" {
		return fmt.Sprintf("R has no package %q: install it on the host, or in a conda environment, and add --runtime DIR for that", name)
	}
	if name := strings.ReplaceAll(f.find(noPerlMod), "/", "::"); name != "" {
		debian := strings.ToLower(strings.ReplaceAll(name, "::", "-"))
		return fmt.Sprintf("Perl has no module %q: install it %s; a module of your own: --project DIR and --env PERL5LIB=/analysis",
			name, cmp.Or(f.inRootfs(), fmt.Sprintf("on the host (apt install lib%s-perl)", debian)))
	}
	return f.nodePackageMissing()
}

// nodePackageMissing is for Node.js, which finds packages in node_modules beside the script or above it.
func (f Facts) nodePackageMissing() string {
	name := f.find(noNodePack)
	own, ofScript := strings.CutPrefix(name, "/analysis/")
	switch {
	case name == "", path.IsAbs(name) && !ofScript, strings.HasPrefix(name, "../"): // noFile has a script
		return ""
	case ofScript, strings.HasPrefix(name, "./"):
		return f.besideScript(own, own+".js", own+".cjs", own+".json", own+"/index.js")
	}
	return fmt.Sprintf("Node.js has no package %q: install it with npm in the directory of your script on the host, and add --project DIR", name)
}

// besideScript says how the analysis sees the first of these files that is next to the script on the host, "" without one.
func (f Facts) besideScript(names ...string) string {
	a := f.Ended.Analysis
	if !path.IsAbs(a.Script) || a.Project != "" {
		return ""
	}
	for _, name := range names {
		if isRegular(path.Join(path.Dir(a.Script), name)) {
			return fmt.Sprintf("%s is beside the script, and the analysis sees only the script: add --project %s", format.Line(path.Clean(name), 200), format.ShellQuote(path.Dir(a.Script)))
		}
	}
	return ""
}

// installed says where a package of Python is to be installed.
func (f Facts) installed(module string) string {
	if dir := f.Ended.Analysis.Runtime; dir != "" {
		return fmt.Sprintf("install it in the environment %s on the host", format.ShellQuote(dir))
	}
	if dir := f.Caller.Environment; dir != "" {
		return fmt.Sprintf("if your active environment has it, add --runtime %s", format.ShellQuote(dir))
	}
	const venv = "in a venv and add --runtime ./venv"
	if rootfs := f.inRootfs(); rootfs != "" {
		return "install it " + rootfs + ", or " + venv
	}
	if slices.Contains(notOfDebian, module) {
		return "install it " + venv
	}
	return fmt.Sprintf("install it on the host (apt install %s), or %s", debianPackage(module), venv)
}

// inRootfs names the root filesystem, "" if it is that of the host.
func (f Facts) inRootfs() string {
	if rootfs := f.Ended.Analysis.Rootfs; rootfs != "" && rootfs != spec.RootfsHost {
		return "in the image or directory " + format.Line(rootfs, 100)
	}
	return ""
}

// notOfDebian are modules that many use and that Debian does not have.
var notOfDebian = []string{
	"arviz", "catboost", "dash", "duckdb", "fastparquet", "gradio", "jax", "librosa", "lightgbm", "nilearn", "polars", "prophet", "pyarrow", "pymc", "shap",
	"SimpleITK", "spacy", "streamlit", "tensorflow", "transformers", "umap",
}

// debianPackage is what Debian most likely calls the package of a module.
func debianPackage(module string) string {
	known := map[string]string{"Bio": "biopython", "cv2": "opencv", "osgeo": "gdal"}
	return "python3-" + cmp.Or(known[module], strings.ToLower(strings.ReplaceAll(module, "_", "-")))
}

func (f Facts) ownModule() string {
	if f.Ended.Analysis.Project != "" {
		return "if it is a module of your own, it is not next to the script in --project"
	}
	return "a module of your own: --project DIR"
}

// noInput is for a program that asks a person.
func noInput(f Facts) string {
	if f.find(noFrontend) != "" {
		return "a notebook in a run has nobody to ask: write the value into the cell"
	}
	if f.find(endOfInput) == "" || f.Ended.Stdin != nil && f.Ended.Stdin.Total > 0 {
		return ""
	}
	return "nothing was at standard input: pass a file or a pipe; a terminal is not passed on"
}

// noSpace is for a full /tmp or home directory: a full /work has a reason of its own.
func noSpace(f Facts) string {
	if f.find(outOfSpace) == "" {
		return ""
	}
	return fmt.Sprintf("/tmp is memory of the run and holds half of its limit, %s: write large files to /work, the current directory", format.Size(int64(f.Ended.Analysis.Memory)/2))
}

// crossDevice is for a file that was to be renamed or linked to another mount: each directory of a run is one.
func crossDevice(f Facts) string {
	if f.find(otherDevice) == "" {
		return ""
	}
	return "a file cannot be renamed or linked from one of /data, /inputs, /tmp and /work to another: copy it, in Python with shutil.move or shutil.copy"
}
