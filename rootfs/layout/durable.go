package layout

import (
	"fmt"
	"os"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/internal/exactjson"
	"github.com/scidex-ai/scidex-oci/internal/regular"
)

// replace replaces a file durably. The caller must hold the directory's lock, as the temporary file has a fixed name.
func replace(path string, data []byte) error {
	return atomicfile.Write(path, path+".new", atomicfile.Durable, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

// readBounded reads a regular file of at most most bytes.
func readBounded(path string, most int64) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return bounded.ReadFile(f, most)
}

func checkMarker(data []byte) error {
	var found ocispec.ImageLayout
	if err := exactjson.Unmarshal(data, &found); err != nil {
		return fmt.Errorf("%s: %w", ocispec.ImageLayoutFile, err)
	}
	if found.Version != ocispec.ImageLayoutVersion {
		return fmt.Errorf("it has the version %q of the layout, not %q; it may belong to a newer scidex-oci",
			clip(found.Version), ocispec.ImageLayoutVersion)
	}
	return nil
}
