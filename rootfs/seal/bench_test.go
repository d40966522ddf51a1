package seal_test

import (
	"context"
	"io"
	"os"
	"testing"

	digest "github.com/opencontainers/go-digest"

	"github.com/scidex-ai/scidex-oci/rootfs/seal"
	"github.com/scidex-ai/scidex-oci/rootfs/unpack"
)

// The figures of scripts/bench-unpack. The layer and where its root is to be come from there; without them
// there is nothing to measure.
func place(b *testing.B) (layer, dir string) {
	layer, dir = os.Getenv("SCIDEX_OCI_BENCH_LAYER"), os.Getenv("SCIDEX_OCI_BENCH_ROOT")
	if layer == "" || dir == "" {
		b.Skip("scripts/bench-unpack runs this")
	}
	return layer, dir
}

// BenchmarkUnpack makes a sealed root of one layer.
func BenchmarkUnpack(b *testing.B) {
	layer, dir := place(b)
	if err := os.Mkdir(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	root, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	source := unpack.Source{
		Open:   func() (io.ReadCloser, error) { return os.Open(layer) },
		DiffID: digest.Digest(os.Getenv("SCIDEX_OCI_BENCH_DIFF_ID")),
	}
	made, err := unpack.Image(context.Background(), root, []unpack.Source{source}, unpack.DefaultBounds())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := seal.Seal(context.Background(), root, dir+".seal", made.Sums()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCheck is what stands at the start of a run from such a root.
func BenchmarkCheck(b *testing.B) {
	_, dir := place(b)
	root, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	b.ReportAllocs()
	for b.Loop() {
		r, err := seal.Open(dir + ".seal")
		if err == nil {
			err = r.Check(context.Background(), root)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
