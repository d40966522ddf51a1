// Command scidex-oci-supervisor is the supervisor of scidex-oci as a program of its own, which starts faster than the whole
// (docs/adr/0019). scidex-oci executes it where it lies beside it and was built with it. Nobody else does.
package main

import (
	"fmt"
	"os"

	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

func main() {
	sandbox.Main()
	fmt.Fprintln(os.Stderr, "scidex-oci-supervisor: scidex-oci starts this program; by itself it does nothing: see scidex-oci --help")
	os.Exit(125)
}
