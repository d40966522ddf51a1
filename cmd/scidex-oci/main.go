// Command scidex-oci runs one analysis in a rootless OCI container and keeps its outputs.
package main

import "github.com/scidex-ai/scidex-oci/cmd/scidex-oci/app"

func main() { app.Main(nil) }
