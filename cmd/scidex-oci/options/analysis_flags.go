package options

import "github.com/scidex-ai/scidex-oci/spec"

// What to give where a flag that takes one value has several.
const (
	directoryAndFiles = "give one directory, and single files with --input FILE"
	oneDirectory      = "give one directory"
	oneScript         = `give one; "scidex-oci batch" runs several`
	oneOf             = "give one of them"
)

// Flags are the flags that fill a spec.Analysis.
func (o *Analysis) Flags() []*Flag {
	deterministic := field(o, "deterministic", "take away what makes two runs differ: one thread for numeric libraries, SCIDEX_RNG_SEED=0, no randomisation of addresses; see docs/replay.md",
		func(a *spec.Analysis) **bool { return &a.Deterministic }, readSwitch)
	deterministic.line.toggle = true
	return inGroups(
		field(o, "id", "name the analysis `ID`: [A-Za-z0-9][A-Za-z0-9._-]{0,127} (default: generated)", func(a *spec.Analysis) *string { return &a.ID }, readID),
		o.one("data", "bind the directory `DIR` read-only at /data, or none (default: ./data where it exists)", func(a *spec.Analysis) *string { return &a.Data }, directoryAndFiles),
		o.one("docs", "bind the directory `DIR` read-only at /docs, or none (default: ./docs where it exists)", func(a *spec.Analysis) *string { return &a.Docs }, directoryAndFiles),
		o.one("project", "bind the directory `DIR` read-only at /analysis, so that a script inside finds its modules", func(a *spec.Analysis) *string { return &a.Project }, oneDirectory),
		o.list("input", "bind `SRC[:DST]` read-only too, at /inputs/NAME unless DST says otherwise; sha256:HEX[:NAME], or a URL in it, s3://BUCKET/PREFIX/sha256/HEX[:NAME] or file://DIR/sha256/HEX[:NAME], is a blob of the blob store, such as an output of another run; repeatable", func(a *spec.Analysis) *[]string { return &a.Inputs }),
		o.one("script", "run `FILE` by its shebang or extension (.py, .R, .jl, .sh, .ipynb); arguments that follow are the script's", func(a *spec.Analysis) *string { return &a.Script }, oneScript),
		o.one("stage", "copy the regular files of `DIR` into /work before the start", func(a *spec.Analysis) *string { return &a.Stage }, oneDirectory),
		o.one("export", "write outputs and scidex-result.json to `DIR` after the commit, whatever the state", func(a *spec.Analysis) *string { return &a.Export }, oneDirectory),
		o.pairs("env", "set a variable: `K=V`, or K alone for this command's value; repeatable", o.Env, func(a *spec.Analysis) *map[string]string { return &a.Env }),
		o.list("secret", "pass the variable `K` of this command on; only its name is stored and shown; repeatable", func(a *spec.Analysis) *[]string { return &a.Secrets }),
		o.pairs("label", "keep the label `K=V` with the run; repeatable", nil, func(a *spec.Analysis) *map[string]string { return &a.Labels }),
		o.list("output", "require that `GLOB` matches an output, else the run fails; repeatable", func(a *spec.Analysis) *[]string { return &a.Outputs }),
		o.list("exclude", "do not harvest what matches `GLOB` (default: __pycache__, *.pyc); repeatable", func(a *spec.Analysis) *[]string { return &a.Exclude }),
		o.one("workdir", "show /work at `PATH` too, a fresh path inside such as /job, and start there (default: /work)", func(a *spec.Analysis) *string { return &a.Workdir }, "give one path inside"),
		o.one("rootfs", "run on `host|NAME|DIR`: the programs of the host (default), an image (see image ls), or an unpacked root filesystem, /DIR or ./DIR", func(a *spec.Analysis) *string { return &a.Rootfs }, oneOf),
		o.one("runtime", "bind the environment or programs in `NAME|DIR` read-only at their own path, bin first in PATH: a name of the config file's runtimes, the directory of a venv (with its base interpreter), of a conda environment, or another with a bin, or none", func(a *spec.Analysis) *string { return &a.Runtime }, oneOf),
		o.text("ids", "`range|self`: user ids of the run's own (the default where there is a range), or the caller's id", func(a *spec.Analysis) *string { return &a.IDs }),
		limit(o, "memory", "memory limit `SIZE`; swap is none (default: 2GiB)", func(a *spec.Analysis) *spec.Size { return &a.Memory }, spec.ParseSize),
		limit(o, "cpus", "processor limit, a `NUMBER` of cores (default: 1)", func(a *spec.Analysis) *float64 { return &a.CPUs }, spec.ParseCPUs),
		limit(o, "pids", "limit `N` of processes and threads (default: 100)", func(a *spec.Analysis) *int64 { return &a.Pids }, spec.ParsePids),
		limit(o, "timeout", "limit `DURATION` of the wall clock (default: 30m)", func(a *spec.Analysis) *spec.Duration { return &a.Timeout }, spec.ParseDuration),
		limit(o, "grace", "wait `DURATION` from SIGTERM to SIGKILL (default: 5s)", func(a *spec.Analysis) *spec.Duration { return &a.Grace }, spec.ParseDuration),
		limit(o, "log-size", "keep `SIZE` of each of standard output and standard error (default: 16MiB)", func(a *spec.Analysis) *spec.Size { return &a.LogSize }, spec.ParseSize),
		limit(o, "work-size", "bound /work to `SIZE` on its file system (default: 1GiB)", func(a *spec.Analysis) *spec.Size { return &a.WorkSize }, spec.ParseSize),
		limit(o, "work-files", "bound /work to `N` names, directories among them (default: 100000)", func(a *spec.Analysis) *int64 { return &a.WorkFiles }, spec.ParseWorkFiles),
		o.text("work-storage", "`disk|tmpfs`: /work is a directory of the host and a run that passes its bounds is ended (default), or it is memory of the run and cannot pass them", func(a *spec.Analysis) *string { return &a.WorkStorage }),
		o.text("limits", "`enforce|outer|best-effort`: refuse where the kernel cannot hold a limit (default), leave memory, CPUs and processes to the control groups that this command is in (a batch system, a container), or hold what can be held; the result says what held", func(a *spec.Analysis) *string { return &a.Limits }),
		Given(&o.network, "network", "`none`, the only value: a run never gets a network"),
		o.list(allowHost, "let the analysis send HTTP requests to `HOST[:PORT]`, a name such as api.example.org or *.example.org, through a proxy outside; its network stays empty. A config file must permit it (allow_hosts); what it reads can leave that way; repeatable; see docs/requests.md", func(a *spec.Analysis) *[]string { return &a.AllowHosts }),
		limit(o, "allow-upload", "bound what all requests together send to `SIZE` (default: 1MiB)", func(a *spec.Analysis) *spec.Size { return &a.Upload }, spec.ParseSize),
		o.text("digest-inputs", "say in the result what was read, by digests that are made while the analysis runs: `script|listing|full`, of the script alone, also of single files and of what directories list (default), or of all that is in them; see docs/replay.md", func(a *spec.Analysis) *string { return &a.DigestInputs }),
		deterministic,
		o.text("preload", "`auto|none|MODULES`: where a Python script waits for its turn in a batch or on a worker, import what it imports first (default), nothing, or that up to these modules, such as numpy,pandas, while it waits; see docs/warm.md", func(a *spec.Analysis) *string { return &a.Preload }),
		o.text("warm", "`auto|none`: does nothing any more, since no start is forked; --preload none turns imports ahead off", func(a *spec.Analysis) *string { return &a.Warm }),
		o.text("keep", "keep the working directory: `never|failed|always` (default: never)", func(a *spec.Analysis) *string { return &a.Keep }),
	)
}
