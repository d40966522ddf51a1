package store

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// TestCheckWithAnotherRoot: a blob that is not here is missing, unless its run has another store that exists and
// belongs to the same catalog.
func TestCheckWithAnotherRoot(t *testing.T) {
	s := fresh(t)
	id, err := s.Catalog.CatalogID(t.Context())
	must(t, err)
	other := func(id string) (root string) {
		root = t.TempDir()
		b, err := blob.Open(filepath.Join(root, "blobs"))
		must(t, err)
		must(t, b.SetCatalogID(t.Context(), id))
		return root
	}
	beside, foreign, ours := other(id), other("another"), filepath.Dir(s.Blobs.Dir())
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(ours, link))
	state := func(root string) string { return filepath.Join(root, "runs", "x@1.json") }
	blobs := func(root string) string { return "file://" + filepath.Join(root, "blobs") }
	for name, tc := range map[string]struct {
		host, state, catalog, blobs string
		want                        bool
	}{
		"our own":                         {"here", state(ours), id, blobs(ours), false},
		"our own by a link":               {"here", state(link), id, blobs(link), false},
		"our own of an older version":     {"here", state(ours), id, "", false},
		"another root":                    {"here", state(beside), id, blobs(beside), true},
		"another root, older version":     {"here", state(beside), id, "", true},
		"another root in our store":       {"here", state(beside), id, blobs(ours), false},
		"a root that was moved":           {"here", state("/gone"), id, blobs("/gone"), false},
		"a store of another catalog":      {"here", state(foreign), id, blobs(foreign), false},
		"from another catalog":            {"here", state(beside), "another", blobs(beside), false},
		"a bucket":                        {"here", state(ours), id, "s3://bucket", true},
		"another host":                    {"there", state(ours), id, blobs(beside), true},
		"another host of the same store":  {"there", state(ours), id, blobs(ours), false},
		"another host, older version":     {"there", state(ours), id, "", true},
		"another host of another catalog": {"there", state(ours), "another", blobs(ours), true},
		"no place":                        {"here", "", "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			place, err := json.Marshal(map[string]string{"state": tc.state, "catalog": tc.catalog, "blobs": tc.blobs})
			must(t, err)
			c := &checker{Store: s, Options: Options{Host: "here"}, report: &Report{CatalogID: id}}
			if got := c.elsewhere(catalog.Run{Host: tc.host, Place: place}); got != tc.want {
				t.Errorf("elsewhere = %v", got)
			}
		})
	}
	if (&checker{Store: s, Options: Options{Host: "here"}, report: &Report{CatalogID: id}}).elsewhere(catalog.Run{Host: "here", Place: []byte("{")}) {
		t.Error("a damaged place is one elsewhere")
	}
}
