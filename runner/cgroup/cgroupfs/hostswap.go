package cgroupfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// HostSwaps reads proc_swaps(5): a header line, then one per area. An unreadable file counts as swap.
func HostSwaps(proc string) bool {
	text, err := os.ReadFile(filepath.Join(proc, "swaps"))
	if errors.Is(err, fs.ErrNotExist) { // a kernel without swap
		return false
	}
	return err != nil || strings.Count(strings.TrimSpace(string(text)), "\n") > 0
}
