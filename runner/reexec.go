package runner

import "github.com/scidex-ai/scidex-oci/runner/sandbox"

// Reexec takes over the process where it was started as our supervisor. Call it first in main; it does not return then.
func Reexec() {
	sandbox.Main()
}
