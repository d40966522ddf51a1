package request

import (
	"io"
	"time"
)

// Hook is a command of the caller that gets the result of a run after its commit. It runs outside of the sandbox with the
// caller's rights, so it comes from the command line, the environment or the config file, and never from a manifest or the
// catalog, where others may write.
type Hook struct {
	Command []string          // the first is the path of an executable file
	Always  bool              // also after a run that is not complete
	Timeout time.Duration     // then SIGTERM
	Grace   time.Duration     // from SIGTERM to SIGKILL
	Output  io.Writer         // receives standard output and standard error as they come
	Environ map[string]string // in addition to that of this process
}
