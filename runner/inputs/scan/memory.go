package scan

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

const (
	// worthRemembering is the number of entries from which a tree is cached: a smaller one is scanned in a few milliseconds.
	worthRemembering = 10_000
	// unchanged is how long a directory must be unchanged to be cached. Two changes within one tick of the file system's clock have
	// the same change time. A tick is 10 ms at most, but a second on file systems with small inodes.
	unchanged = 2 * time.Second
	// memoryMax bounds the cache of one tree, in bytes of its file: some 400,000 directories.
	memoryMax = 16 << 20
)

// memory caches the content of a tree, directory by directory. One whose change time is still the same holds the same names,
// of the same types. Its subdirectories have their own. A nil memory caches nothing.
type memory struct {
	index   map[inode.ID]int // of records
	records []record
	since   time.Time // what changed later than this may change again unseen
	size    int       // of the records that are current, about, in bytes
	changed bool      // a record is new
}

// record is a directory as of its change time. It had no special entries.
type record struct {
	id      inode.ID
	ctime   unix.StatxTimestamp
	current bool // confirmed in this scan
	listing
}

func newMemory(records []record) *memory {
	m := &memory{index: make(map[inode.ID]int, len(records)), records: records, since: time.Now().Add(-unchanged)}
	for i, r := range records {
		m.index[r.id] = i
	}
	return m
}

// find returns the cached listing of a directory that has not changed.
func (m *memory) find(st *unix.Statx_t) (listing, bool) {
	if m == nil {
		return listing{}, false
	}
	i, ok := m.index[inode.Of(st)]
	if !ok || m.records[i].ctime != st.Ctime {
		return listing{}, false
	}
	m.take(i)
	return m.records[i].listing, true
}

// note caches a directory that was read after st was taken.
func (m *memory) note(st *unix.Statx_t, list listing) {
	if m == nil || !time.Unix(st.Ctime.Sec, int64(st.Ctime.Nsec)).Before(m.since) || m.size > memoryMax {
		return
	}
	id := inode.Of(st)
	i, ok := m.index[id]
	if !ok {
		i = len(m.records)
		m.index[id] = i
		m.records = append(m.records, record{})
	}
	m.records[i] = record{id: id, ctime: st.Ctime, listing: list}
	m.take(i)
	m.changed = true
}

// changes reports whether the file must be written again.
func (m *memory) changes() bool { return m != nil && m.changed }

// take counts a record as current.
func (m *memory) take(i int) {
	if r := &m.records[i]; !r.current {
		r.current = true
		m.size += recordBytes + len(r.subdirs)
	}
}
