package pending

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Awaited reads the pending commits of ended runs: copies of their blobs on this host may be the only ones.
func Awaited(host *phase.Host) (func(sha256 string) bool, error) {
	named := &blob.Digests{}
	err := Digests(host, func(sha256 string) bool {
		named.Add(sha256)
		return true
	})
	if err != nil {
		return nil, err
	}
	found, err := filepath.Glob(filepath.Join(workspace.GlobEscape(host.Root), "runs", "*.aftermath"))
	for _, path := range found {
		var a phase.Ended
		content, err := record.Open(path, &a)
		if errors.Is(err, record.ErrNewer) {
			return nil, fmt.Errorf("no blob is removed while %q cannot be read, which names some: %w", path, err)
		}
		if err != nil {
			continue // a damaged one is of no use
		}
		_ = content.Close() // it was only read
		for _, kept := range append(a.Logs[:], a.Script, a.Stdin) {
			if kept != nil {
				named.Add(kept.SHA256)
			}
		}
	}
	return named.Has, err
}
