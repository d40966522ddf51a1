package scan

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// Reader is the id that will read the inputs.
type Reader struct {
	UID, GID int  // on the host
	Own      bool // it is the caller's: what the caller can open, the analysis can
	Root     bool // root calls: there is no --ids self for it
}

// MayRead returns nil if an id that owns nothing and is in no group can read the file, by the bits for others. opens reports
// whether the caller can read it, with all of its groups and by an access control list.
func (r Reader) MayRead(st *unix.Stat_t, opens func() bool) error {
	need, fix := uint32(0o4), "chmod o+r"
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		need, fix = 0o5, "chmod o+rx"
	}
	if r.Own || st.Mode&need == need {
		return nil
	}
	return fmt.Errorf("the analysis runs with an id of its own, which cannot read it (mode %04o); %s",
		st.Mode&0o7777, r.way(st, need, fix, os.Geteuid(), os.Getegid(), opens))
}

// way is how a caller gets the file to the analysis. The id of the caller has none of its supplementary groups there.
func (r Reader) way(st *unix.Stat_t, need uint32, fix string, uid, gid int, opens func() bool) string {
	var ways []string
	if r.Root || int(st.Uid) == uid {
		ways = append(ways, fmt.Sprintf("give it to everyone (%s)", fix))
	}
	switch {
	case r.Root:
	case inode.Rights(st, uid, []int{gid})&need == need:
		ways = append(ways, "run with your own id (--ids self)")
	case opens():
		ways = append(ways, "pass its directory with --stage, which copies it to /work")
	case ways == nil:
		return fmt.Sprintf("you cannot read it either: ask its owner (uid %d)", st.Uid)
	}
	return strings.Join(ways, " or ")
}

// MayEnter reports whether the id might enter a directory that is closed to the caller. Its own bits and those of others
// count: the caller may have groups that it lacks, and files in the range may be of an earlier user of its ids.
func (r Reader) MayEnter(st *unix.Stat_t) bool {
	return st.Mode&0o001 != 0 || int(st.Uid) == r.UID && st.Mode&0o100 != 0 || int(st.Gid) == r.GID && st.Mode&0o010 != 0
}
