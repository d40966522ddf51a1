package image

import (
	"context"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/rootfs/seal"
)

// Hold is the descriptor by which the root is in use. Whoever has a duplicate of it, another process too, keeps the
// root from being exchanged or removed for as long as it is open, also when this Root has been closed (flock(2)).
// It is the Root's to close.
func (r *Root) Hold() *os.File { return r.lock }

// Glance is the part of Check that takes some milliseconds. Where it says nothing Check would not either; an error is
// no verdict yet: then Check reads everything.
func (r *Root) Glance(ctx context.Context) error {
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
