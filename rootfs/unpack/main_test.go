package unpack

import (
	"os"
	"testing"

	"github.com/scidex-ai/scidex-oci/rootfs/unpack/decoders"
)

func TestMain(m *testing.M) {
	Register(decoders.Decode)
	os.Exit(m.Run())
}
