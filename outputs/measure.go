package outputs

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
)

// Extent is the space that a tree uses.
type Extent struct {
	// Files are names of any kind, including directories, and open inodes without a name.
	Files int64 `json:"files"`
	// Bytes are allocated bytes, once for a file with several names: holes cost nothing.
	Bytes int64 `json:"bytes"`
}

// Exceeds reports whether e is beyond a bound.
func (e Extent) Exceeds(bound Extent) bool { return e.Files > bound.Files || e.Bytes > bound.Bytes }

// Peak is the greater of each of two figures.
func (e Extent) Peak(other Extent) Extent {
	return Extent{max(e.Files, other.Files), max(e.Bytes, other.Bytes)}
}

// Inode is a file that no directory names any more.
type Inode struct {
	Dev, Ino uint64
	Bytes    int64 // allocated
}

// Ruler measures a tree, also while others write to it.
type Ruler struct {
	root  *os.File
	links map[string]string
	still bool
	seen  inodes
}

// NewRuler returns a ruler for the tree below root. Symlinks of links (name to exact target) at its top do not count. A
// still tree, which nothing writes to any more, is measured with less memory.
func NewRuler(root *os.File, links map[string]string, still bool) *Ruler {
	return &Ruler{root: root, links: links, still: still, seen: make(inodes)}
}

// Measure counts what is below the root, without the root itself, and the unnamed inodes. It ends early, with the count so
// far, when that exceeds most. It follows neither links nor mounts; memory and time are bounded by the names that most
// allows.
//
// An inode that is moved or gets a name during the walk counts once. Entries moved behind the walk may be missed: whole
// is false if that is known.
func (r *Ruler) Measure(ctx context.Context, most Extent, unnamed []Inode) (got Extent, whole bool, err error) {
	w, err := newWalk(r.root)
	if err != nil {
		return got, false, fmt.Errorf("measure: %w", err)
	}
	defer w.close()
	clear(r.seen)
	m := measuring{Ruler: r, walk: w, most: most, whole: true}
	for _, inode := range unnamed {
		if m.first(fileID{inode.Dev, inode.Ino}) {
			m.got.Files++
			m.got.Bytes += inode.Bytes
		}
	}
	if err := m.run(ctx); err != nil {
		return m.got, false, fmt.Errorf("measure: %w", err)
	}
	return m.got, m.whole, nil
}

// measuring is one call of Measure.
type measuring struct {
	*Ruler
	walk  *walk
	most  Extent
	got   Extent
	whole bool
}

func (m *measuring) run(ctx context.Context) error {
	for !m.got.Exceeds(m.most) {
		if err := ctx.Err(); err != nil {
			return err
		}
		name, ok, err := m.walk.next()
		switch {
		case err != nil && m.walk.depth() == 0:
			return err // nothing is known of the root then
		case ok:
			err = m.entry(name)
		case err == nil && m.walk.depth() == 0:
			return nil
		default:
			if err := m.missed(err); err != nil {
				return err
			}
			err = m.walk.leave()
		}
		if err := m.missed(err); err != nil {
			return err
		}
	}
	return nil
}

// missed goes on without an entry that is closed by its own mode or was moved, which cannot be in a still tree.
func (m *measuring) missed(err error) error {
	var r *refusal
	m.whole = m.whole && err == nil
	if errors.As(err, &r) || moved(err) && !m.still {
		return nil
	}
	return err
}

// entry counts one name. A name removed before its lstat counts nothing.
func (m *measuring) entry(name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(m.walk.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		if err == unix.ENOENT && !m.still {
			return nil
		}
		return proven(m.walk.fd(), name, nil, err)
	}
	if m.isOwnLink(name, &st) {
		return nil
	}
	several := kind(&st) != unix.S_IFDIR && st.Nlink > 1
	again := (several || !m.still) && !m.first(identity(&st))
	if again && !several {
		return nil // it was moved
	}
	m.got.Files++
	if again {
		return nil
	}
	m.got.Bytes += allocated(&st)
	if kind(&st) == unix.S_IFDIR {
		if err := m.walk.enter(name, &st); err != nil {
			return proven(m.walk.fd(), name, &st, err)
		}
	}
	return nil
}

// first reports whether an inode has not been seen before.
func (m *measuring) first(id fileID) bool { return m.seen.add(id) }

// isOwnLink reports whether a name is one of the links that do not count.
func (m *measuring) isOwnLink(name string, st *unix.Stat_t) bool {
	want, ok := m.links[name]
	if !ok || m.walk.depth() > 0 || kind(st) != unix.S_IFLNK {
		return false
	}
	target, err := beneath.Readlink(m.walk.fd(), name)
	return err == nil && target == want
}

// allocated is the space an inode uses, blocks of attributes and directories included.
func allocated(st *unix.Stat_t) int64 {
	if kind(st) == unix.S_IFREG {
		return Allocated(st.Blocks, st.Size)
	}
	return st.Blocks * 512
}

// Allocated is the space a regular file uses, from the blocks of 512 bytes and the size of stat(2). It excludes
// preallocation far beyond the end, as XFS does for growing files: it is not the writer's; the margin is for attributes and
// whole blocks.
func Allocated(blocks, size int64) int64 {
	const margin = 64 << 10
	return min(blocks*512, size+margin)
}
