package scan

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/host/inode/inodetest"
)

// TestMountsBelowAreRefused by the walk, without the check of mounts.
func TestMountsBelowAreRefused(t *testing.T) {
	inodetest.WithMounts(t, func() {
		for _, name := range []string{"plain", "with space", "tab\tand\nnewline", `back\slash`, `\040`, "#"} {
			dir := inodetest.Tree(t, "data/"+name+"/1", "other/1")
			inodetest.BindMount(t, dir+"/other", filepath.Join(dir, "data", name))
			found, err := scanTree(t, dir+"/data")
			if found != nil || err == nil || !strings.Contains(err.Error(), "is mounted below it") {
				t.Errorf("the scan of %q: %+v, %v", name, found, err)
			}
		}
	})
}

// TestScanRemembersNoMount: a mount over a directory that is remembered is not passed over, even where
// the mounted directory is remembered too.
func TestScanRemembersNoMount(t *testing.T) {
	l := largeTree(t)
	l.scan()
	inodetest.WithMounts(t, func() {
		inodetest.BindMount(t, l.dir+"/d01/below", l.dir+"/d02/below")
		_, err := l.scanner.Scan(t.Context(), inodetest.Open(t, l.dir), nil)
		inodetest.ExpectRefusal(t, err, `"d02/below" is mounted below it`)
	})
}
