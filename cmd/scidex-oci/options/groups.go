package options

// The groups in which help and man pages show the flags of a request.
const (
	groupInputs  = "Inputs"
	groupProgram = "Program"
	groupLimits  = "Limits"
	groupOutputs = "Outputs"
	groupRunning = "Running"
)

// Groups are the names of the groups of flags, in the order in which help shows them.
func Groups() []string {
	return []string{groupInputs, groupProgram, groupLimits, groupOutputs, groupRunning}
}

// inGroups puts each flag of a request into its group.
func inGroups(flags ...*Flag) []*Flag {
	for _, f := range flags {
		f.Category = groupOf(f.Name)
	}
	return flags
}

// inRunning puts a flag into the last group.
func inRunning(f *Flag) *Flag {
	f.Category = groupRunning
	return f
}

func groupOf(name string) string {
	switch name {
	case "data", "docs", "project", "input", "stage", "digest-inputs":
		return groupInputs
	case "script", "workdir", "rootfs", "runtime", "env", "secret", "file", "again", "deterministic":
		return groupProgram
	case "memory", "cpus", "pids", "timeout", "grace", "log-size", "work-size", "work-files", "work-storage", "limits", "network", "allow-host", "allow-upload", "inject", "ids", "min-free":
		return groupLimits
	case "output", "exclude", "export", "overwrite", "keep", "post-process", "post-process-timeout", "post-process-on", "sign-key", "sign-command", "sign-public-key":
		return groupOutputs
	}
	return groupRunning
}
