package runner

import "github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor"

// Reexec takes over the process if it was started as the supervisor. Call it first in main; then it does not return.
func Reexec() {
	supervisor.Main()
}
