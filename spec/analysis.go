// Package spec holds a user's request (Analysis), its defaults and validation, and its translation into an OCI runtime
// specification. It is pure: it reads no file, no clock and no environment.
package spec

// Analysis is one request: a command or a script, its inputs, limits and declared outputs. Its JSON form is the manifest,
// the `analysis` of a result and the request in the catalog.
//
// A zero field is unset; WithDefaults fills it in. Paths are the host's; ResolvePaths makes them absolute.
type Analysis struct {
	ID     string            `json:"id,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`

	// Command is the argument vector to run; exactly one of Command and Script is set.
	Command []string `json:"command,omitempty"`
	// Script is a host file, bound read-only below /analysis and run by its shebang or extension.
	Script string `json:"script,omitempty"`
	// Args follow Script.
	Args []string `json:"args,omitempty"`

	// Env is added to the generated environment. Values are kept and shown.
	Env map[string]string `json:"env,omitempty"`
	// Secrets names variables whose values come from the launcher's environment; only names are stored, shown and
	// exported.
	Secrets []string `json:"secrets,omitempty"`

	// Data and Docs are bound read-only at /data and /docs; "none" binds nothing, "" means ./data and ./docs if they
	// exist.
	Data string `json:"data,omitempty"`
	Docs string `json:"docs,omitempty"`
	// Project is bound read-only at /analysis.
	Project string `json:"project,omitempty"`
	// Inputs are further read-only binds, "SRC" or "SRC:DST"; "sha256:HEX" is a blob of the blob store.
	Inputs []string `json:"inputs,omitempty"`
	// Stage is a directory whose regular files, and relative links that stay inside, are copied into /work before the start.
	Stage string `json:"stage,omitempty"`
	// Export is a directory that receives outputs and scidex-result.json after the commit.
	Export string `json:"export,omitempty"`

	// Outputs are globs; each must match at least one harvested file.
	Outputs []string `json:"outputs,omitempty"`
	// Exclude are globs of files that the harvest records as skipped. Nil means the default; an empty list excludes
	// nothing and stays empty in JSON.
	Exclude []string `json:"exclude,omitzero"`

	// Workdir is an absolute path inside at which /work is shown too and in which the analysis starts; "" is only /work.
	Workdir string `json:"workdir,omitempty"`

	// Rootfs is the root filesystem: "host", the name of an image, or a directory: "/DIR" or "./DIR".
	Rootfs string `json:"rootfs,omitempty"`
	// Runtime is a directory whose bin comes first in PATH, bound read-only at its own path: a conda environment, a venv
	// or such. A manifest may name one of the config file; "none" is none.
	Runtime string `json:"runtime,omitempty"`
	// IDs is "range" (the run's own ids) or "self" (the caller's id).
	IDs string `json:"ids,omitempty"`

	Memory  Size     `json:"memory,omitempty"`   // bytes
	CPUs    float64  `json:"cpus,omitempty"`     // cores
	Pids    int64    `json:"pids,omitempty"`     // processes and threads
	Timeout Duration `json:"timeout,omitempty"`  // wall clock
	Grace   Duration `json:"grace,omitempty"`    // from SIGTERM to SIGKILL
	LogSize Size     `json:"log_size,omitempty"` // bytes kept of each stream

	// WorkSize and WorkFiles bound /work: bytes used on its file system, and names in it.
	WorkSize  Size  `json:"work_size,omitempty"`
	WorkFiles int64 `json:"work_files,omitempty"`
	// WorkStorage is where /work is: "disk", a directory of the host, or "tmpfs", the run's memory.
	WorkStorage string `json:"work_storage,omitempty"`

	// AllowHosts are the hosts that a proxy outside sends requests to, "api.example.org", "*.example.org" or with ":PORT"; the
	// network of the analysis stays empty.
	AllowHosts []string `json:"allow_hosts,omitempty"`
	// Upload bounds what all requests together send, in bytes with TLS and headers.
	Upload Size `json:"allow_upload,omitempty"`

	// Limits is the strictness of limits: "enforce", "outer" or "best-effort".
	Limits string `json:"limits,omitempty"`
	// DigestInputs says what the result has digests of: "script", "listing" (also single files, and directories by names,
	// sizes and change times) or "full" (all contents).
	DigestInputs string `json:"digest_inputs,omitempty"`
	// Deterministic removes known causes of differences between runs: threads, hash seeds and those of programs that read
	// SCIDEX_RNG_SEED, and address randomisation. Nil is unset.
	Deterministic *bool `json:"deterministic,omitempty"`
	// Keep says when the working directory stays: "never", "failed" or "always".
	Keep string `json:"keep,omitempty"`
	// Preload is what is imported for a Python script while its run waits for its turn: "auto" (unset means that too),
	// "none", or modules up to which its first imports go, "numpy,pandas".
	Preload string `json:"preload,omitempty"`
}
