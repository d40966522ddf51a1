package image

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"

	"github.com/scidex-ai/scidex-oci/rootfs/unpack"
)

// recordFile etc. TODO seal
func (s *Store) finish(ctx context.Context, tree *os.File, root *unpack.Root) error {
	t := root.Totals()
	text, err := json.Marshal(record{Version: recordVersion, Digest: digest.NewDigestFromBytes(digest.SHA256, make([]byte, sha256.Size)), Bytes: t.Bytes, Entries: t.Entries})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(filepath.Dir(tree.Name()), recordFile), text, 0o600)
}

// ErrDamaged is returned by Check for a root that is not what was unpacked.
var ErrDamaged = errors.New("the root filesystem is not what was unpacked")

// Check TODO
func (r *Root) Check(ctx context.Context) error { return ctx.Err() }
