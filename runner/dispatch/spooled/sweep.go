package spooled

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/spool"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/runner/recovery"
)

// sweep removes the roots that killed tasks of this user left on the node. A result committed there is delivered first. The
// lines of the others are concluded by a collector.
func (t *Task) sweep(ctx context.Context) {
	_, err := lockdir.Sweep(filepath.Dir(t.Root), t.Prefix, false, func(root string) error {
		node, err := t.open(ctx, root)
		if err != nil {
			return err
		}
		_, err = recovery.GC(ctx, node.Host, false, recovery.Retention{})
		if err == nil {
			err = deliverKilled(ctx, root, node)
		}
		return errors.Join(err, node.Close())
	})
	if err != nil {
		t.Unswept(err)
	}
}

// deliverKilled delivers what a killed task committed below its root, unless its spool was removed.
func deliverKilled(ctx context.Context, root string, node *Node) error {
	path, err := os.Readlink(filepath.Join(root, lineLink))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was killed before it began
	}
	if err != nil {
		return err
	}
	runs, err := node.Store.Catalog.List(ctx, catalog.Filter{States: []outcome.State{outcome.Complete, outcome.Failed, outcome.Canceled}})
	if err != nil || len(runs) == 0 {
		return err
	}
	s, line, err := around(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	from := spool.Source{Store: node.Store, Key: runs[0].Key}
	err = s.Deliver(ctx, line.Number, from, line.Key())
	if errors.Is(err, spool.ErrTaken) {
		return nil // it is delivered in addition to the other result
	}
	return err
}
