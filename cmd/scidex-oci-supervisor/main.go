// Command scidex-oci-supervisor is the supervisor of scidex-oci as a separate program, which starts faster than the whole
// (docs/adr/0019). Only scidex-oci executes it, if both lie in one directory and are of one build.
package main

import (
	"fmt"
	"os"

	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor"
)

func main() {
	supervisor.Main()
	fmt.Fprintln(os.Stderr, "scidex-oci-supervisor: scidex-oci starts this program; by itself it does nothing: see scidex-oci --help")
	os.Exit(125)
}
