package systemd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
)

// UnitOf returns the directory of the systemd unit of group dir, or the mount point without systemd, as in a container.
func UnitOf(point, dir string) string {
	for ; cgroupfs.Within(point, dir) && dir != point; dir = filepath.Dir(dir) {
		if slices.Contains([]string{".service", ".scope", ".slice"}, filepath.Ext(dir)) {
			return dir
		}
	}
	return point
}

// Delegated reports whether systemd delegates a unit's group to us. In any other it may remove groups that it did not
// make, or take controllers away, whenever it handles a neighbour. The system's manager marks units with Delegate= (for
// everyone since version 251, for root since 236); a user's manager cannot (seen with 252) and is asked.
func Delegated(ctx context.Context, unit string) bool {
	return marked(unit) || OfUserManager(unit) && Manager{os.Getuid()}.delegates(ctx, filepath.Base(unit))
}

// OfUserManager reports whether a unit is below the caller's own user manager.
func OfUserManager(unit string) bool {
	return strings.Contains(filepath.Dir(unit)+"/", fmt.Sprintf("/user@%d.service/", os.Getuid()))
}

func marked(dir string) bool {
	value := make([]byte, 8)
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		if n, err := unix.Getxattr(dir, name, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}
