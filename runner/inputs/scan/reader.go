package scan

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Reader is the id that will read the inputs.
type Reader struct {
	UID, GID int  // on the host
	Own      bool // it is the caller's: what the caller can open, the analysis can
	Root     bool // root calls: there is no --ids self for it
}

// MayRead returns nil if an id that owns nothing and is in no group can read the file, by the bits for others.
func (r Reader) MayRead(st *unix.Stat_t) error {
	need := uint32(0o004)
	fix := "chmod o+r"
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		need, fix = 0o005, "chmod o+rx"
	}
	if r.Own || st.Mode&need == need {
		return nil
	}
	way := fmt.Sprintf("give it to everyone (%s)", fix)
	switch {
	case r.Root:
	case int(st.Uid) == os.Geteuid(), int(st.Gid) == os.Getegid():
		way += " or run with your own id (--ids self)"
	default: // the id of the caller has none of its supplementary groups there
		way += " or pass its directory with --stage, which copies it to /work"
	}
	return fmt.Errorf("the analysis runs with an id of its own, which cannot read it (mode %04o); %s", st.Mode&0o7777, way)
}

// MayEnter reports whether the id might enter a directory that is closed to the caller. Its own bits and those of others
// count: the caller may have groups that it lacks, and files in the range may be of an earlier user of its ids.
func (r Reader) MayEnter(st *unix.Stat_t) bool {
	return st.Mode&0o001 != 0 || int(st.Uid) == r.UID && st.Mode&0o100 != 0 || int(st.Gid) == r.GID && st.Mode&0o010 != 0
}
