package runner

import (
	"github.com/scidex-ai/scidex-oci/runner/container"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// Reexec takes over the process where it was started as a part of a sandbox: libcontainer's init or our
// supervisor. Call it first in main; it does not return in those cases.
func Reexec() {
	container.RunInit()
	sandbox.Main()
}
