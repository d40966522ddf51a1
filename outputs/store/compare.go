package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// compare reads a run and all its rows from both catalogs.
func (c *copier) compare(ctx context.Context, key catalog.Key) error {
	ours, n, err := digestOf(ctx, c.from.Catalog, key)
	if err != nil {
		return err
	}
	theirs, m, err := digestOf(ctx, c.to.Catalog, key)
	if err != nil {
		return err
	}
	if n != m {
		return fmt.Errorf("it has %d entries and %d in the other catalog", n, m)
	}
	if ours != theirs {
		return errors.New("the run of this id and attempt in the other catalog is another one")
	}
	c.done.Outputs += n
	return nil
}

// digestOf is a digest of all rows of a run, and the number of its entries.
func digestOf(ctx context.Context, c catalog.Catalog, key catalog.Key) (string, int64, error) {
	run, err := c.Get(ctx, key)
	if err != nil {
		return "", 0, err
	}
	if run.Events, err = c.Events(ctx, key); err != nil {
		return "", 0, err
	}
	sum := sha256.New()
	write := json.NewEncoder(sum)
	var failed error
	if err := write.Encode(plain(run)); err != nil {
		return "", 0, err
	}
	n := int64(0)
	err = c.Outputs(ctx, key, func(e outputs.Entry) bool {
		n++
		e.MediaType = catalog.ValidText(e.MediaType)
		failed = write.Encode(e)
		return failed == nil
	})
	return hex.EncodeToString(sum.Sum(nil)), n, errors.Join(err, failed)
}

func valid[S ~string](s S) S { return S(catalog.ValidText(string(s))) }

// plain is a run as every database can store it: PostgreSQL's text cannot hold NUL. The documents are compared literally.
func plain(run catalog.Run) any {
	run.Reason, run.Message, run.Signal = valid(run.Reason), valid(run.Message), valid(run.Signal)
	run.Host, run.BootID, run.ToolVersion = valid(run.Host), valid(run.BootID), valid(run.ToolVersion)
	for i := range run.Events {
		run.Events[i].Kind = valid(run.Events[i].Kind)
	}
	run.Pinned, run.OutputsRemovedAt = false, time.Time{} // both may change after the end
	documents := []string{string(run.Request), string(run.Place), string(run.Report)}
	run.Request, run.Place, run.Report = nil, nil, nil
	if len(run.Labels) == 0 {
		run.Labels = nil
	}
	if len(run.Blobs) == 0 {
		run.Blobs = nil
	}
	return []any{run, documents}
}

func fingerprint(s catalog.Selftest) string {
	return fmt.Sprintf("%d %q %q %t %s", s.At.UnixMilli(), catalog.ValidText(s.Host), catalog.ValidText(s.ToolVersion), s.Passed, s.Report)
}
