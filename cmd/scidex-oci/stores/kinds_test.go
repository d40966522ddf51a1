package stores

import (
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/spec"
)

// TestInputsOfBlobStores: an input can be a blob of each kind of store. Package spec has the schemes too, since it imports no other.
func TestInputsOfBlobStores(t *testing.T) {
	for _, k := range blobStores {
		store := k.scheme + "://store/of/blobs"
		in, err := spec.ParseInput(store + "/sha256/" + strings.Repeat("0", 64))
		if err != nil || in.Store() != store {
			t.Errorf("the store of the input is %q, want %q: %v", in.Store(), store, err)
		}
	}
}
