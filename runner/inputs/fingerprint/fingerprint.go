// Package fingerprint computes digests of the files and directories that a run reads: of their contents, or of a listing.
package fingerprint

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// Kind is what a fingerprint of a directory says.
type Kind string

// The kinds.
const (
	// Content covers the names, the executable bits and the bytes of all files: two directories with the same one are the
	// same to a reader, on any host.
	Content Kind = "content"
	// Listing covers the names, sizes and change times (ctime, see inode(7)) of all files: an equal one says that nothing
	// was written since. A copy differs.
	Listing Kind = "listing"
)

// Print is the fingerprint of a file or directory.
type Print struct {
	SHA256 string // 64 hexadecimal digits
	Files  int64
	Bytes  int64 // of the files, by their sizes
	// Newest is the latest change time of anything in it.
	Newest time.Time
}

// errChanged says that a file was written while it was read.
var errChanged = errors.New("changed while it was read")

// worthRemembering is the size in bytes from which the digest of a single file is cached.
const worthRemembering = 1 << 20

// Maker makes fingerprints. If Dir is not empty, it caches the digests of files there, and uses them as long as a file is
// unchanged.
type Maker struct{ Dir string }

// Of computes the fingerprint of an open file or directory (O_PATH). That of a single file is the SHA-256 of its bytes,
// whatever the kind. That of a directory is a Merkle tree's: the digest of the sorted entries, each with its own digest.
// Symbolic links are entries themselves. In memory are the names of a directory and those above it. What cannot be read, is mounted below, or
// lies deeper than 256 directories is an error, and so is the end of ctx.
//
// Each file is read at some moment of the walk: what is written during the walk may be in it or not, see Newest.
func (m Maker) Of(ctx context.Context, f *os.File, kind Kind) (Print, error) {
	st, err := inode.Stat(int(f.Fd()), "")
	if err != nil {
		return Print{}, err
	}
	w := &walk{ctx: ctx, kind: kind}
	if regular := st.Mode&unix.S_IFMT == unix.S_IFREG; !regular && kind == Content || regular && st.Size >= worthRemembering {
		w.memory = m.recall(f, st)
		defer w.memory.discard()
	}
	sum, err := w.top(f, st)
	if err != nil {
		return Print{}, err
	}
	if err := w.memory.keep(); err != nil {
		return Print{}, fmt.Errorf("remember the digests: %w", err)
	}
	w.print.SHA256 = hex.EncodeToString(sum[:])
	return w.print, nil
}

// Unchanged reports whether nothing was changed after since. The kernel's clock for change times has ticks of up to 10 ms: a
// change that soon after it is not detected.
func (m Maker) Unchanged(ctx context.Context, f *os.File, since time.Time) (bool, error) {
	st, err := inode.Stat(int(f.Fd()), "")
	if err != nil {
		return false, err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFREG {
		return !changed(st).After(since), nil
	}
	listed, err := m.Of(ctx, f, Listing)
	return err == nil && !listed.Newest.After(since), err
}

// changed is when an inode was changed: its content, or anything else of it.
func changed(st *unix.Statx_t) time.Time { return time.Unix(st.Ctime.Sec, int64(st.Ctime.Nsec)) }
