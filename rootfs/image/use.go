package image

import (
	"context"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/rootfs/seal"
)

// Hold is the descriptor that keeps the root in use. While a duplicate of it is open, even in another process, the root
// is not exchanged or removed, also after Close (flock(2)). The Root owns it.
func (r *Root) Hold() *os.File { return r.lock }

// QuickCheck is the quick part of Check, some milliseconds. If it returns nil, so would Check; on an error, Check decides by
// reading everything.
func (r *Root) QuickCheck(ctx context.Context) error {
	sealed, err := seal.Open(filepath.Join(r.lock.Name(), sealFile))
	if err != nil {
		return err
	}
	if sealed.Digest() != r.Digest {
		return ErrDamaged
	}
	tree, err := openDir(r.Dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	return sealed.Check(ctx, tree)
}
