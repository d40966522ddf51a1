// Package spec holds what a user asks for (Analysis), its defaults and validation, and its
// translation into an OCI runtime specification. It is pure: it reads no file, no clock and no
// environment.
package spec

// Analysis is one request: a command or a script, its inputs, limits and declared outputs. Its JSON
// form is the manifest, the `analysis` of a result and what the catalog keeps as the request.
//
// A zero field means "not asked for"; WithDefaults fills it in. Paths are the host's; ResolvePaths
// makes them absolute.
type Analysis struct {
	ID     string            `json:"id,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`

	// Command is the argument vector to run; exactly one of Command and Script is set.
	Command []string `json:"command,omitempty"`
	// Script is a file of the host, bound read-only below /analysis and run by its shebang or extension.
	Script string `json:"script,omitempty"`
	// Args follow Script.
	Args []string `json:"args,omitempty"`

	// Env is added to the made environment. A value is kept with the run and shown.
	Env map[string]string `json:"env,omitempty"`
	// Secrets names variables whose values come from the launcher's environment; only the names are
	// kept, shown and exported.
	Secrets []string `json:"secrets,omitempty"`

	// Data and Docs are bound read-only at /data and /docs; "none" binds nothing, "" means ./data and
	// ./docs where they exist.
	Data string `json:"data,omitempty"`
	Docs string `json:"docs,omitempty"`
	// Project is bound read-only at /analysis.
	Project string `json:"project,omitempty"`
	// Inputs are further read-only binds, "SRC" or "SRC:DST"; "sha256:HEX" is a blob of the blob store.
	Inputs []string `json:"inputs,omitempty"`
	// Stage is a directory whose regular files are copied into /work before the start.
	Stage string `json:"stage,omitempty"`
	// Export is a directory that receives outputs and scidex-result.json after the commit.
	Export string `json:"export,omitempty"`

	// Outputs are globs each of which must match at least one harvested file.
	Outputs []string `json:"outputs,omitempty"`
	// Exclude are globs of files that the harvest records as skipped. Nil means the default; an empty
	// list excludes nothing and is kept as such in JSON.
	Exclude []string `json:"exclude,omitzero"`

	// Rootfs is the root filesystem: "host", the name of an image, or a directory: "/DIR" or "./DIR".
	Rootfs string `json:"rootfs,omitempty"`
	// Runtime is a directory whose bin comes first in PATH, bound read-only at its own path: a conda
	// environment, a venv or such. A manifest may have the name of one in the config file; "none" is none.
	Runtime string `json:"runtime,omitempty"`
	// IDs is "range" (ids of the run's own) or "self" (the caller's id).
	IDs string `json:"ids,omitempty"`

	Memory  Size     `json:"memory,omitempty"`   // bytes
	CPUs    float64  `json:"cpus,omitempty"`     // cores
	Pids    int64    `json:"pids,omitempty"`     // processes and threads
	Timeout Duration `json:"timeout,omitempty"`  // wall clock
	Grace   Duration `json:"grace,omitempty"`    // from SIGTERM to SIGKILL
	LogSize Size     `json:"log_size,omitempty"` // bytes kept of each stream

	// WorkSize and WorkFiles bound /work: bytes that it takes on its file system, and names in it.
	WorkSize  Size  `json:"work_size,omitempty"`
	WorkFiles int64 `json:"work_files,omitempty"`
	// WorkStorage is what /work is: "disk", a directory of the host, or "tmpfs", memory of the run.
	WorkStorage string `json:"work_storage,omitempty"`

	// Limits is the strictness of the ladder: "enforce", "outer" or "best-effort".
	Limits string `json:"limits,omitempty"`
	// DigestInputs says of what the result has digests: "script", "listing" (also single files, and directories by names, sizes
	// and change times) or "full" (all that is in them).
	DigestInputs string `json:"digest_inputs,omitempty"`
	// Deterministic takes away what makes two runs differ where that is in our hands: threads, the seeds of hashes and
	// of whoever heeds SCIDEX_RNG_SEED, and the randomisation of addresses. Nil was not asked for.
	Deterministic *bool `json:"deterministic,omitempty"`
	// Keep says when the working directory stays: "never", "failed" or "always".
	Keep string `json:"keep,omitempty"`
}
