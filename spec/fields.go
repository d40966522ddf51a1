package spec

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Field is one field of an Analysis. The table of them is the only list: manifests, flags with their help, what `new` writes,
// defaults, checks, and how layers are merged follow from its rows, and tests hold the schema and the digest of actions against
// them.
type Field struct {
	Name  string // in a manifest
	Flag  string // of the command line and the config file; empty: there is none
	Group string // of help and of what `new` writes
	Help  string // of the flag, without the default
	Only  string // what to give instead of several values; empty: the last one is taken, or all of a list

	About   string // its comment in a manifest of `new`
	Example string // its value there, if that is not the default

	Choices []string // the only values
	// NotInAction is empty if the digest of an action has the field, by which --reuse finds results. Otherwise it says why two
	// requests that differ only in this field are one action, or what of the digest has its meaning.
	NotInAction string
	Bounded     bool // a caller of mcp may request at most what its operator gives

	// Word refuses a word of the command line before all else, if it is not nil.
	Word func(string) error
	// At returns a pointer to the field.
	At func(*Analysis) any

	unset    any                            // the default
	whole    func(string) (int64, error)    // parses a whole number
	resolve  func(dir, value string) string // makes a host path absolute
	path     string                         // what is at a host path: a file or a directory
	check    func(Analysis) error           // refuses what Choices and path do not
	confines bool                           // the OCI specification depends on it, and not only by a bind
}

// The groups in which help shows fields, in its order.
const (
	GroupInputs  = "Inputs"
	GroupProgram = "Program"
	GroupLimits  = "Limits"
	GroupOutputs = "Outputs"
	GroupRunning = "Running"
)

// Groups returns the groups in the order of help.
func Groups() []string {
	return []string{GroupInputs, GroupProgram, GroupLimits, GroupOutputs, GroupRunning}
}

// Fields returns the fields in the order of help.
func Fields() []Field { return fields[:] }

// Usage is the help of the flag with the default.
func (f Field) Usage() string {
	switch otherwise := f.unset.(type) {
	case nil:
		return f.Help
	case []string:
		return f.Help + " (default: " + strings.Join(otherwise, ", ") + ")"
	default:
		return fmt.Sprintf("%s (default: %v)", f.Help, otherwise)
	}
}

// Sample is a value for a manifest, as one line of YAML: the default if there is one.
func (f Field) Sample() string {
	if f.Example != "" {
		return f.Example
	}
	return fmt.Sprint(f.unset)
}

// Several reports whether the field has several values.
func (f Field) Several() bool {
	switch f.At(&Analysis{}).(type) {
	case *[]string, *map[string]string:
		return true
	}
	return false
}

// Parse sets the field of an analysis to words of the command line; of several, a field of one value takes the last. It is not
// for mappings and switches.
func (f Field) Parse(a *Analysis, words []string) (err error) {
	last := words[len(words)-1]
	switch to := f.At(a).(type) {
	case *string:
		*to = last
	case *[]string:
		*to = words
	case *Size:
		*to, err = ParseSize(last)
	case *Duration:
		*to, err = ParseDuration(last)
	case *float64:
		*to, err = ParseCPUs(last)
	case *int64:
		*to, err = f.whole(last)
	default:
		panic(fmt.Sprintf("%s: no words make a %T", f.Name, to))
	}
	return err
}

// Clear makes the field of an analysis an unset one.
func (f Field) Clear(a *Analysis) { f.in(a).SetZero() }

// Text is the field's value as a message shows it.
func (f Field) Text(a Analysis) string { return fmt.Sprint(f.in(&a)) }

// Exceeds reports whether a limit of one analysis is above that of another.
func (f Field) Exceeds(a, most Analysis) bool {
	asked, bound := f.in(&a), f.in(&most)
	if asked.CanFloat() {
		return asked.Float() > bound.Float()
	}
	return asked.Int() > bound.Int()
}

func (f Field) in(a *Analysis) reflect.Value { return reflect.ValueOf(f.At(a)).Elem() }

var fields = [...]Field{
	{
		Name: "data", Flag: "data", Group: GroupInputs, At: func(a *Analysis) any { return &a.Data },
		Help: "bind the directory `DIR` read-only at /data, or none (default: ./data if it exists)", Only: directoryAndFiles,
		About: "a directory to show at /data (SCIDEX_DATA_DIR), or none; unset: data in the current directory, if it exists", Example: "data",
		NotInAction: "the report", resolve: resolveGiven, path: "directory",
	},
	{
		Name: "docs", Flag: "docs", Group: GroupInputs, At: func(a *Analysis) any { return &a.Docs },
		Help: "bind the directory `DIR` read-only at /docs, or none (default: ./docs if it exists)", Only: directoryAndFiles,
		About: "a directory to show at /docs (SCIDEX_DOCS_DIR), or none; unset: docs in the current directory, if it exists", Example: "docs",
		NotInAction: "the report", resolve: resolveGiven, path: "directory",
	},
	{
		Name: "project", Flag: "project", Group: GroupInputs, At: func(a *Analysis) any { return &a.Project },
		Help: "bind the directory `DIR` read-only at /analysis, so that a script inside finds its modules", Only: oneDirectory,
		About: "a directory to show at /analysis, for a script that imports its neighbours", Example: ".",
		NotInAction: "the report", resolve: resolve, path: "directory",
	},
	{
		Name: "inputs", Flag: "input", Group: GroupInputs, At: func(a *Analysis) any { return &a.Inputs },
		Help:  "`SRC[:DST]`: bind the file or directory SRC read-only at DST (default: /inputs/NAME); SRC can also be a blob of the blob store, such as an output of another run: sha256:HEX[:NAME], s3://BUCKET/PREFIX/sha256/HEX[:NAME] or file://DIR/sha256/HEX[:NAME]; repeatable",
		About: "files to show in /inputs, or SOURCE:/DESTINATION", Example: `[table.csv, "models:/models"]`,
		NotInAction: "the report", resolve: resolveInput, check: checkInputs,
	},
	{
		Name: "stage", Flag: "stage", Group: GroupInputs, At: func(a *Analysis) any { return &a.Stage },
		Help: "copy the regular files of `DIR`, and relative links that stay inside, into /work before the start", Only: oneDirectory,
		About: "a directory whose files are copied into /work before the start", Example: "start",
		NotInAction: "the report", resolve: resolve, path: "directory",
	},
	{
		Name: "digest_inputs", Flag: "digest-inputs", Group: GroupInputs, At: func(a *Analysis) any { return &a.DigestInputs },
		Help:  "`script|listing|full`: put digests of the inputs into the result: of only the script; also of single files and of what directories list; or also of all files in directories. They are computed while the analysis runs; see docs/replay.md",
		About: "script, listing or full: what of the inputs the result has digests of",
		unset: DigestListing, Choices: []string{DigestScript, DigestListing, DigestFull}, NotInAction: "what is told",
	},
	{
		Name: "script", Flag: "script", Group: GroupProgram, At: func(a *Analysis) any { return &a.Script },
		Help: "run `FILE` by its shebang or extension (.py, .R, .jl, .sh, .ipynb); arguments that follow are the script's",
		Only: `give one; "scidex-oci batch" runs several`, About: "run by its first line (#!) or its extension",
		NotInAction: "Plan.Command and the report", resolve: resolve, path: "file",
	},
	{
		Name: "args", Group: GroupProgram, At: func(a *Analysis) any { return &a.Args },
		About: "arguments of the script", Example: `["--order", "2"]`,
		NotInAction: "Plan.Command",
	},
	{
		Name: "command", Group: GroupProgram, At: func(a *Analysis) any { return &a.Command },
		About: "a program and its arguments, instead of script and args", Example: `[sort, -rn, /data/all.txt]`,
		NotInAction: "Plan.Command", check: checkProgram,
	},
	{
		Name: "env", Flag: "env", Group: GroupProgram, At: func(a *Analysis) any { return &a.Env },
		Help:  "`K=V`: set the variable K to V; K without a value passes on the one that this command has; repeatable",
		About: "variables; their values are kept with the run and shown", Example: `{LEVEL: "3"}`,
		check: checkEnv,
	},
	{
		Name: "secrets", Flag: "secret", Group: GroupProgram, At: func(a *Analysis) any { return &a.Secrets },
		Help:  "pass the variable `K` of this command on; only its name is stored and shown; repeatable",
		About: "variables of the caller that are passed on; only their names are kept", Example: `[API_KEY]`,
		check: checkSecrets,
	},
	{
		Name: "workdir", Flag: "workdir", Group: GroupProgram, At: func(a *Analysis) any { return &a.Workdir },
		Help: "show /work also at `PATH`, a path that does not exist inside yet, such as /job, and start there (default: /work)", Only: "give one path inside",
		About: "a path that does not exist inside yet: /work is shown there too, and the program starts there", Example: "/job",
		check: checkWorkdir, confines: true,
	},
	{
		Name: "rootfs", Flag: "rootfs", Group: GroupProgram, At: func(a *Analysis) any { return &a.Rootfs },
		Help: "`host|NAME|DIR`: run with the programs of the host, with the image NAME (see image ls), or with an unpacked root filesystem, /DIR or ./DIR", Only: oneValue,
		About:       "host: the programs of this host; else the name of an image or a directory",
		unset:       RootfsHost,
		NotInAction: "the report", resolve: resolveRootfs, check: checkRootfs, confines: true,
	},
	{
		Name: "runtime", Flag: "runtime", Group: GroupProgram, At: func(a *Analysis) any { return &a.Runtime },
		Help: "`NAME|DIR`: bind a directory with programs read-only at its own path, and put its bin first in PATH. DIR is a venv (its base interpreter is bound too), a conda environment or another directory with a bin; NAME is one of the runtimes in the config file, or none", Only: oneValue,
		About: "a venv, a conda environment or another directory whose bin comes first in PATH, or none", Example: None,
		NotInAction: "the report and the environment", resolve: runtimePath, path: "directory",
	},
	{
		Name: "deterministic", Flag: "deterministic", Group: GroupProgram, At: func(a *Analysis) any { return &a.Deterministic },
		Help:  "take away what makes two runs differ: one thread for numeric libraries, SCIDEX_RNG_SEED=0, no randomisation of addresses; see docs/replay.md",
		About: "true: one thread for numeric libraries, SCIDEX_RNG_SEED=0, no random addresses", Example: "false",
	},
	{
		Name: "ids", Flag: "ids", Group: GroupLimits, At: func(a *Analysis) any { return &a.IDs },
		Help:  "`range|self`: give the run user ids of its own (the default if the caller has a range of ids), or the caller's id",
		About: "range: user ids of its own (default if there are some); self: yours", Example: IDsRange,
		Choices: []string{IDsRange, IDsSelf}, NotInAction: "the id inside", confines: true,
	},
	{
		Name: "memory", Flag: "memory", Group: GroupLimits, At: func(a *Analysis) any { return &a.Memory },
		Help:  "limit memory to `SIZE`; there is no swap",
		About: "of all its processes together; there is no swap",
		unset: 2 * GiB, Bounded: true,
		check: func(a Analysis) error { return checkSize("memory", a.Memory, 4*MiB, PiB) }, confines: true,
	},
	{
		Name: "cpus", Flag: "cpus", Group: GroupLimits, At: func(a *Analysis) any { return &a.CPUs },
		Help:  "limit processors to a `NUMBER` of cores",
		About: "processor cores",
		unset: 1.0, Bounded: true,
		check: func(a Analysis) error { return checkNumber("cpus", a.CPUs, checkCPUs) }, confines: true,
	},
	{
		Name: "pids", Flag: "pids", Group: GroupLimits, At: func(a *Analysis) any { return &a.Pids }, whole: parsePids,
		Help:  "limit processes and threads to `N`",
		About: "processes and threads",
		unset: int64(100), Bounded: true,
		check: func(a Analysis) error { return checkNumber("pids", a.Pids, checkPids) }, confines: true,
	},
	{
		Name: "timeout", Flag: "timeout", Group: GroupLimits, At: func(a *Analysis) any { return &a.Timeout },
		Help:  "limit the time from start to end to `DURATION`",
		About: "from start to end",
		unset: Duration(30 * time.Minute), Bounded: true, NotInAction: "an end, not an output",
		check: func(a Analysis) error { return checkTime("timeout", a.Timeout, 100*time.Millisecond, 30*24*time.Hour) },
	},
	{
		Name: "grace", Flag: "grace", Group: GroupLimits, At: func(a *Analysis) any { return &a.Grace },
		Help:  "wait `DURATION` between SIGTERM and SIGKILL",
		About: "from the request to end until it is killed",
		unset: Duration(5 * time.Second), NotInAction: "an end, not an output",
		check: func(a Analysis) error { return checkTime("grace", a.Grace, time.Millisecond, time.Hour) },
	},
	{
		Name: "log_size", Flag: "log-size", Group: GroupLimits, At: func(a *Analysis) any { return &a.LogSize },
		Help:  "keep at most `SIZE` of standard output, and as much of standard error",
		About: "kept of standard output, and of standard error",
		unset: 16 * MiB, Bounded: true, NotInAction: "what is kept",
		check: func(a Analysis) error { return checkSize("log_size", a.LogSize, KiB, TiB) },
	},
	{
		Name: "work_size", Flag: "work-size", Group: GroupLimits, At: func(a *Analysis) any { return &a.WorkSize },
		Help:  "limit the files in /work to `SIZE`",
		About: "files in /work",
		unset: GiB, Bounded: true,
		check: func(a Analysis) error { return checkSize("work_size", a.WorkSize, MiB, PiB) }, confines: true,
	},
	{
		Name: "work_files", Flag: "work-files", Group: GroupLimits, At: func(a *Analysis) any { return &a.WorkFiles }, whole: parseWorkFiles,
		Help:  "limit /work to `N` names of files and directories",
		About: "names in /work",
		unset: int64(100_000), Bounded: true,
		check: func(a Analysis) error { return checkNumber("work_files", a.WorkFiles, checkWorkFiles) }, confines: true,
	},
	{
		Name: "work_storage", Flag: "work-storage", Group: GroupLimits, At: func(a *Analysis) any { return &a.WorkStorage },
		Help:  "`disk|tmpfs`: keep /work in a directory of the host, and end a run whose /work grows too large; or keep /work in memory of the run, where it cannot grow further",
		About: "disk, or tmpfs: /work is memory of the run",
		unset: WorkDisk, Choices: []string{WorkDisk, WorkTmpfs}, confines: true,
	},
	{
		Name: "limits", Flag: "limits", Group: GroupLimits, At: func(a *Analysis) any { return &a.Limits },
		Help:  "`enforce|outer|best-effort`: refuse the run if a limit cannot be enforced; leave memory, CPUs and processes to the control groups that this command is in (a batch job, a container); or enforce what can be enforced. The result says what enforced each limit",
		About: "enforce: no run if a limit cannot be enforced; outer: rely on the batch job or container around; best-effort: enforce what can be enforced",
		unset: LimitsEnforce, Choices: []string{LimitsEnforce, LimitsOuter, LimitsBestEffort}, NotInAction: "who holds them", confines: true,
	},
	{
		Name: "allow_hosts", Flag: "allow-host", Group: GroupLimits, At: func(a *Analysis) any { return &a.AllowHosts },
		Help:  "`HOST[:PORT]`: let the analysis send HTTP requests to a host such as api.example.org or *.example.org, through a proxy outside; its network stays empty. A config file must permit the host (allow_hosts). Whatever the analysis reads can leave that way; repeatable; see docs/requests.md",
		About: "hosts that it may send HTTP requests to, by a proxy; your config file must permit them", Example: "[rest.uniprot.org]",
		check: checkHosts,
	},
	{
		Name: "allow_upload", Flag: "allow-upload", Group: GroupLimits, At: func(a *Analysis) any { return &a.Upload },
		Help:  "let all requests together send at most `SIZE` (default: 1MiB)",
		About: "what all requests together may send", Example: "1MiB",
		NotInAction: "nothing without AllowHosts",
		check:       func(a Analysis) error { return checkSize("allow_upload", a.Upload, 1, PiB) },
	},
	{
		Name: "export", Flag: "export", Group: GroupOutputs, At: func(a *Analysis) any { return &a.Export },
		Help: "write outputs and scidex-result.json to `DIR` after the commit, whatever the state", Only: oneDirectory,
		About: "a directory that gets copies of the outputs", Example: "out",
		NotInAction: "after the end", resolve: resolve, path: "directory",
	},
	{
		Name: "outputs", Flag: "output", Group: GroupOutputs, At: func(a *Analysis) any { return &a.Outputs },
		Help:  "require that `GLOB` matches an output, else the run fails; repeatable",
		About: "what must be there in the end, or the run has failed", Example: `["*.csv", "plots/**/*.svg"]`,
		check: func(a Analysis) error { return checkGlobs("output", a.Outputs) },
	},
	{
		Name: "exclude", Flag: "exclude", Group: GroupOutputs, At: func(a *Analysis) any { return &a.Exclude },
		Help:  "do not keep files that match `GLOB`; repeatable",
		About: "files that are not kept",
		unset: []string{"__pycache__", "*.pyc"}, Example: `["__pycache__", "*.pyc"]`,
		check: func(a Analysis) error { return checkGlobs("exclude", a.Exclude) },
	},
	{
		Name: "keep", Flag: "keep", Group: GroupOutputs, At: func(a *Analysis) any { return &a.Keep },
		Help:  "`never|failed|always`: keep the working directory on the host for no run, for runs that are not complete, or for all",
		About: "never, failed or always: when the working directory stays on the host too",
		unset: KeepNever, Choices: []string{KeepNever, KeepFailed, KeepAlways}, NotInAction: "after the end",
	},
	{
		Name: "id", Flag: "id", Group: GroupRunning, At: func(a *Analysis) any { return &a.ID },
		Help:  "name the analysis `ID`: at most 128 letters, digits, '.', '_' and '-', the first a letter or digit (default: generated)",
		About: "its name; unset: made from the time", Example: "fit-1",
		NotInAction: "a name", Word: ValidateID, check: checkID,
	},
	{
		Name: "labels", Flag: "label", Group: GroupRunning, At: func(a *Analysis) any { return &a.Labels },
		Help:  "keep the label `K=V` with the run; repeatable",
		About: "to find it by", Example: "{project: brain}",
		NotInAction: "a name", check: checkLabels,
	},
	{
		Name: "preload", Flag: "preload", Group: GroupRunning, At: func(a *Analysis) any { return &a.Preload },
		Help:  "`auto|none|MODULES`: what a Python script imports while it waits for its turn in a batch or an engine: the imports at its beginning (default), nothing, or these imports up to MODULES, such as numpy,pandas; see docs/warm.md",
		About: "auto, none, or names of modules such as numpy,pandas: what a script imports while it waits in a batch or an engine", Example: PreloadAuto,
		NotInAction: "how it starts", check: checkPreload,
	},
}

// What to give instead of several values.
const (
	directoryAndFiles = "give one directory, and single files with --input FILE"
	oneDirectory      = "give one directory"
	oneValue          = "give one of them"
)
