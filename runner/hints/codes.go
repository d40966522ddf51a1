package hints

// The codes of hints; docs/hints.md explains them.
const (
	Doctor           = "doctor"
	MemoryLimit      = "memory_limit"
	PidsLimit        = "pids_limit"
	TimeLimit        = "time_limit"
	WorkLimit        = "work_limit"
	HostFull         = "host_full"
	NotebookPackages = "notebook_packages"
	ProgramMissing   = "program_missing"
	ModuleMissing    = "module_missing"
	ArgumentsMissing = "arguments_missing"
	NoNetwork        = "no_network"
	NoDirectory      = "no_directory"
	LocalFile        = "local_file"
	PathInside       = "path_inside"
	NoData           = "no_data"
	Unreadable       = "unreadable"
	NoInput          = "no_input"
	NoSpace          = "no_space"
	ReadOnly         = "read_only"
	OutputMissing    = "output_missing"
	FilesLost        = "files_lost"
	LogTruncated     = "log_truncated"
	AboveHost        = "above_host"
)
