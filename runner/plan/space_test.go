package plan

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// The commands of both refusals are as a shell reads them.
func TestSpaceRefusalsQuoteTheRoot(t *testing.T) {
	root := filepath.Join(t.TempDir(), "of mine")
	blobs, err := blob.Open(filepath.Join(root, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	note := filepath.Join(root, "unharvested", "a@1")
	if err := errors.Join(os.Mkdir(filepath.Dir(note), 0o700), os.WriteFile(note, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	host := &phase.Host{Blobs: blobs, Root: root, Tmp: root, MinFree: freespace.Floor{Bytes: math.MaxInt64}, MaxUnharvested: phase.Unharvested{Dirs: 1}}
	for command, refusal := range map[string]error{"gc": checkSpace(host, &Plan{}), "rm ID": checkUnharvested(host)} {
		if want := "`scidex-oci --root '" + root + "' " + command + "`"; refusal == nil || !strings.Contains(refusal.Error(), want) {
			t.Errorf("%v, want %s", refusal, want)
		}
	}
}
