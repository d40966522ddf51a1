// Command scidex-oci-net is scidex-oci with what other hosts are needed for: PostgreSQL, S3, registries, the queue and the web
// application; and with pages and tables of runs. scidex-oci executes it when it is asked for one of them.
package main

import (
	"os"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci-net/commands"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/app"
)

func main() {
	// It was executed by a descriptor, whose number would be its name in ps. If there is no /proc, the run says so.
	_ = os.WriteFile("/proc/self/comm", []byte("scidex-oci"), 0)
	app.Main(commands.New)
}
