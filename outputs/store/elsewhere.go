package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// home is where a run was made: a part of workspace.Location.
type home struct {
	Dir     string `json:"dir"`     // its directory, if it was kept
	State   string `json:"state"`   // <root>/runs/<name>
	Catalog string `json:"catalog"` // its catalog
	Blobs   string `json:"blobs"`   // URL of its blob store; missing in runs of older versions
}

// elsewhere reports whether a run of this catalog has its blobs in another store, of another host or root.
func (c *checker) elsewhere(run catalog.Run) bool {
	var h home
	_ = json.Unmarshal(run.Place, &h) // without a location all is empty
	taken := h.Catalog != c.report.CatalogID
	switch {
	case !taken && h.Blobs == c.Blobs.URL():
		return false
	case run.Host != c.Host:
		return !taken && h.Blobs != "" || !c.Blobs.Shared()
	case taken: // from another catalog, with its blobs
		return false
	case h.Blobs == "":
		return c.another(filepath.Join(filepath.Dir(filepath.Dir(h.State)), "blobs"))
	}
	dir, local := strings.CutPrefix(h.Blobs, "file://")
	return !local || c.another(dir)
}

// another reports whether dir is a second blob store of this catalog on this host. A directory that was removed or now
// belongs to another catalog is not: a root may have been moved here. One of another user is unreadable.
func (c *checker) another(dir string) bool {
	id, err := os.ReadFile(filepath.Join(dir, "catalog_id"))
	if errors.Is(err, fs.ErrPermission) {
		return true
	}
	if err != nil || strings.TrimSpace(string(id)) != c.report.CatalogID {
		return false
	}
	ours, err1 := os.Stat(c.Blobs.Dir())
	theirs, err2 := os.Stat(dir)
	return c.Blobs.Shared() || errors.Join(err1, err2) == nil && !os.SameFile(ours, theirs)
}
