package inputs

import (
	"context"
	"fmt"
	"slices"

	"github.com/scidex-ai/scidex-oci/internal/regular"
	"github.com/scidex-ai/scidex-oci/runner/inputs/scan"
	"github.com/scidex-ai/scidex-oci/runner/testhole"
)

// Scan looks for sockets and the like in all directories that are bound. A scan of more than scan.TellAfter calls tell, if
// it is not nil, about twice a second.
func (s *Set) Scan(ctx context.Context, by scan.Scanner, tell func(what string)) error {
	for i, in := range s.Inputs {
		if !in.Bind.Directory || shownTwice(in, s.Inputs[:i]) {
			continue
		}
		var progress func(int64)
		if tell != nil {
			progress = func(entries int64) {
				tell(fmt.Sprintf("looking for sockets in %s  %d entries so far", in.Flag, entries))
			}
		}
		found, err := by.Scan(ctx, in.File, progress)
		if err != nil {
			return fmt.Errorf("%s: %w", in, err)
		}
		if found != nil && !testhole.Open {
			return fmt.Errorf("%s holds %s, %q, through which the analysis could reach out; remove it or bind another directory",
				in, regular.KindName(found.Kind), found.Path)
		}
	}
	return nil
}

// shownTwice reports whether one of those before is the same directory, at another path.
func shownTwice(in Input, before []Input) bool {
	return slices.ContainsFunc(before, func(other Input) bool {
		return other.Bind.Dev == in.Bind.Dev && other.Bind.Ino == in.Bind.Ino
	})
}
