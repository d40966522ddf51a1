// Package fingerprint makes digests of the files and directories that a run reads: of all that is in them, or of a listing.
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
	// Content is of the names, the executable bits and the bytes of all files: two directories with the same one are the
	// same for who reads them, on whatever host.
	Content Kind = "content"
	// Listing is of the names, sizes and change times (ctime, see inode(7)) of all files: the same one says that nothing was
	// written since. A copy has another.
	Listing Kind = "listing"
)

// Print is the fingerprint of a file or directory.
type Print struct {
	SHA256 string // 64 hexadecimal digits
	Files  int64
	Bytes  int64 // of the files, as they say themselves
	// Newest is the latest change time of anything in it.
	Newest time.Time
}

// ErrChanged says that a file was written while it was read.
var ErrChanged = errors.New("changed while it was read")

// worthRemembering is the size in bytes from which the digest of a single file is remembered.
const worthRemembering = 1 << 20

// Maker makes fingerprints, and remembers in Dir the digests of files that have not changed since; where that is empty, nothing.
type Maker struct{ Dir string }

// Of makes the fingerprint of an open file or directory (O_PATH). That of a single file is the SHA-256 of its bytes, whatever
// the kind. Of a directory it is a Merkle tree's: the digest of the sorted entries, each with its own digest. Symbolic links
// are entries themselves. Memory does not depend on how many there are. What cannot be read, is mounted below, or lies
// deeper than 256 directories is an error, and so is the end of ctx.
//
// It is what was there when each file was looked at: what is written meanwhile may be in it or not, see Newest.
func (m Maker) Of(ctx context.Context, f *os.File, kind Kind) (Print, error) {
	st, err := inode.Stat(int(f.Fd()), "")
	if err != nil {
		return Print{}, err
	}
	w := &walk{ctx: ctx, kind: kind, spill: m.spill}
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

// Unchanged looks whether nothing was changed after a moment. The kernel's clock for change times stands still for up to 10 ms:
// a change that came so soon after it does not show.
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
