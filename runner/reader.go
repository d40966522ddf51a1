package runner

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// reader is the id that is to read the inputs.
type reader struct {
	uid, gid int  // on the host
	own      bool // it is the caller's: what the caller can open, the analysis can
	root     bool // root calls: there is no --ids self for it
}

// mayRead says whether an id that owns nothing and is in no group can read the file: what counts are
// the bits for others.
func (r reader) mayRead(st *unix.Stat_t) error {
	need := uint32(0o004)
	fix := "chmod o+r"
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		need, fix = 0o005, "chmod o+rx"
	}
	if r.own || st.Mode&need == need {
		return nil
	}
	way := fmt.Sprintf("give it to everyone (%s)", fix)
	if !r.root {
		way += " or run with your own id (--ids self)"
	}
	return fmt.Errorf("the analysis runs with an id of its own, which cannot read it (mode %04o); %s", st.Mode&0o7777, way)
}

// mayEnter reports whether the id might enter a directory that is closed to the caller. Its own bits and
// those of others count: the caller may have groups that it lacks, and files in the range may be of an
// earlier user of its ids.
func (r reader) mayEnter(st *unix.Stat_t) bool {
	return st.Mode&0o001 != 0 || int(st.Uid) == r.uid && st.Mode&0o100 != 0 || int(st.Gid) == r.gid && st.Mode&0o010 != 0
}
