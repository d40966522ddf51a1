package hints

// The codes of hints. The comment of each is its row in docs/reference/hints.md: when it is given, and what its sentence names.
const (
	// The host cannot run analyses, or a limit cannot be enforced.
	// Names: `scidex-oci doctor`.
	Doctor = "doctor"
	// The run was out of memory, or the analysis got no more of it.
	// Names: the limit, `--memory`; or that the host has less.
	MemoryLimit = "memory_limit"
	// No more processes or threads could be started, also if the run then completed or timed out.
	// Names: the limit, `--pids`.
	PidsLimit = "pids_limit"
	// The run timed out.
	// Names: the limit, `--timeout`.
	TimeLimit = "time_limit"
	// A signal such as SIGSEGV or SIGKILL ended it that no limit explains, or a notebook's Python died.
	// Names: `--env PYTHONFAULTHANDLER=1`, or who may have killed it.
	Crashed = "crashed"
	// `/work` was full, or one file became larger than `--work-size`.
	// Names: the limits, `--work-size`, `--work-files`.
	WorkLimit = "work_limit"
	// The host's disk was nearly full.
	// Names: `scidex-oci gc`.
	HostFull = "host_full"
	// Python cannot run notebooks.
	// Names: the `pip` command of the runtime.
	NotebookPackages = "notebook_packages"
	// sh ran what uses bash, or may; also if the run completed.
	// Names: `#!/bin/bash`.
	BashNeeded = "bash_needed"
	// A program or an interpreter is not in the container.
	// Names: the name that is there instead or was meant, `--runtime`, `--rootfs`, or `-- sh -c` for a line or a word of a shell.
	ProgramMissing = "program_missing"
	// `nvidia-smi` or CUDA found no device.
	// Names: the CPU.
	NoGPU = "no_gpu"
	// The analysis wanted to install packages, or to be root; also if it went on and completed.
	// Names: `--runtime`, `--rootfs`, or to leave out `sudo`.
	NoPrivileges = "no_privileges"
	// A package of Python, R, Perl or Node.js is missing.
	// Names: Debian's package or the active environment for `--runtime`, `--project`.
	ModuleMissing = "module_missing"
	// The script wanted an argument after the last that it got.
	// Names: `--`.
	ArgumentsMissing = "arguments_missing"
	// A window could not be opened, or matplotlib said that it showed nothing and no file was written.
	// Names: `savefig`, `/work`.
	NoDisplay = "no_display"
	// The proxy of `--allow-host` refused a request.
	// Names: the host, and why.
	HostRefused = "host_refused"
	// A name could not be resolved, or a connection was refused.
	// Names: `--data`, `--input`.
	NoNetwork = "no_network"
	// The analysis wanted to change to a directory that is not in the container.
	// Names: `/data`, `/work`.
	ChangesDirectory = "changes_directory"
	// A file was to be written in a directory that is not there.
	// Names: how to create it.
	NoDirectory = "no_directory"
	// A file or directory was looked for that is in the caller's directory, or at that path of the host.
	// Names: `--script`, `--project`, `--input`.
	LocalFile = "local_file"
	// A file was looked for that is in a bound directory.
	// Names: its path inside.
	PathInside = "path_inside"
	// A file in `/data` or `/docs` was looked for, and the run has no such directory.
	// Names: `--data`, `--docs`.
	NoData = "no_data"
	// A file is not there; most messages do not say whether it was to be read or written.
	// Names: what `/data`, `/docs` or `/inputs` has on the host, where a link leads to, how to create the directory, or that `/work` is empty at the start.
	NoSuchFile = "no_such_file"
	// An input may not be read or executed by the analysis.
	// Names: `chmod`, `--ids self`, `--stage`.
	Unreadable = "unreadable"
	// The program or a notebook asked for input and there was none.
	// Names: a pipe or file as standard input.
	NoInput = "no_input"
	// `/tmp` or the home directory was full.
	// Names: their size, `/work`.
	NoSpace = "no_space"
	// A file was to be renamed or linked from `/data`, `/inputs` or `/tmp` to `/work`.
	// Names: to copy it.
	CrossDevice = "cross_device"
	// The analysis wrote where it only reads, also a database of SQLite.
	// Names: `/work`.
	ReadOnly = "read_only"
	// A declared output matched nothing.
	// Names: what was written instead.
	OutputMissing = "output_missing"
	// `--export` was given, and the run completed without an output.
	// Names: `/work`.
	NothingExported = "nothing_exported"
	// Files were left in `/tmp` or in the home directory.
	// Names: their names; only `/work` is kept.
	FilesLost = "files_lost"
	// More was printed than is kept.
	// Names: how much, `--log-size`.
	LogTruncated = "log_truncated"
	// A limit is above what the host has.
	// Names: the host's figure.
	AboveHost = "above_host"
)
