package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// harvest walks /work into the ingest directory and sends every entry. What a dead supervisor's run has left comes with two files, the
// working directory's parent and the ingest directory.
func (r *run) harvest(ctx context.Context, h sandbox.Harvest, files []*os.File) error {
	defer protocol.Discard(files)
	dir, ingest := r.work.dir, r.work.ingest
	var links map[string]string
	switch {
	case h.Left == nil:
		links = r.job.Links
	case len(files) != 2:
		return fmt.Errorf("a harvest came with %d descriptors", len(files))
	default:
		below, err := openBelow(files[0], h.Left.Below)
		if err != nil {
			return fmt.Errorf("open the working directory: %w", err)
		}
		defer below.Close()
		dir, ingest, links = below, files[1], h.Left.Links
	}
	entries := &batch{launcher: r.launcher}
	harvested := r.launcher.span("harvest")
	totals, err := outputs.Harvest(ctx, dir, outputs.Options{
		Bounds:  h.Bounds,
		Ingest:  ingest,
		Exclude: h.Exclude,
		Links:   links,
		Resumed: h.Left != nil,
		Partial: h.Partial,
		Names:   h.Names,
		Writing: r.work.writers,
		Link:    h.Link,
	}, entries.add)
	err = errors.Join(err, entries.send())
	harvested()
	if err != nil {
		return err
	}
	return r.launcher.reply(protocol.Message{Type: protocol.MsgHarvested, Totals: &totals})
}

func openBelow(dir *os.File, name string) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// batchSize is the number of entries in one message: each at most some 20 KiB (two paths of 4,096 bytes, base64).
const batchSize = 256

// batch collects the entries of one message.
type batch struct {
	launcher launcher
	entries  []outputs.Entry
}

func (b *batch) add(e outputs.Entry) error {
	b.entries = append(b.entries, e)
	if len(b.entries) < batchSize {
		return nil
	}
	return b.send()
}

func (b *batch) send() error {
	if len(b.entries) == 0 {
		return nil
	}
	err := b.launcher.conn.Send(protocol.Message{Type: protocol.MsgEntries, Entries: b.entries})
	b.entries = b.entries[:0]
	return err
}
