package command

import "slices"

// dockerFlag returns what to type instead of a flag of docker run, "" for other flags.
func dockerFlag(name string) string {
	const (
		bind     = "bind a directory with --data DIR (read as /data) or a file with --input FILE (read below /inputs)"
		terminal = "an analysis has no terminal; leave it out (a pipe as standard input needs no flag), or see --shell"
		network  = "a run never gets a network; leave it out, download first, and pass the files with --data DIR or --input FILE"
		device   = "an analysis gets no GPU or other device; leave it out"
		rights   = "an analysis gets no privileges; leave it out"
		user     = "an analysis has a user id of its own; leave it out, or give --ids self for your own"
	)
	switch name {
	case "v", "volume", "mount":
		return bind
	case "image":
		return `name an image with --rootfs NAME; "scidex-oci image ls" lists them, "scidex-oci image pull" gets another`
	case "gpus", "device":
		return device
	case "i", "t", "it", "ti", "interactive", "tty":
		return terminal
	case "net", "p", "publish", "P", "publish-all", "expose", "dns", "add-host", "hostname":
		return network
	case "rm":
		return "a run leaves nothing but its result and outputs; leave it out"
	case "e", "env-file":
		return "set a variable with --env K=V"
	case "name":
		return "name the run with --id ID"
	case "w", "workdir":
		return "an analysis starts in /work and writes there; leave it out"
	case "u", "user":
		return user
	case "m":
		return "limit the memory with --memory SIZE"
	case "l":
		return "label the run with --label K=V"
	case "pids-limit":
		return "limit processes and threads with --pids N"
	case "read-only", "tmpfs", "shm-size", "init":
		return "every run has a read-only root, a /tmp and a /dev/shm of its own, and an init; leave it out"
	case "pull":
		return `"scidex-oci image pull" gets an image, and --rootfs NAME runs on it`
	case "privileged", "cap-add", "cap-drop", "security-opt", "userns":
		return rights
	case "entrypoint":
		return "give the command and its arguments after all flags"
	}
	return ""
}

// onlyDockers reports whether a flag is hardly ever a script's own.
func onlyDockers(name string) bool {
	return slices.Contains([]string{"it", "ti", "gpus", "rm", "v"}, name)
}
