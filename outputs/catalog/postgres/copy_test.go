package postgres

import (
	"path/filepath"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/sqlite"
	"github.com/scidex-ai/scidex-oci/outputs/store"
)

// Both databases return the same run, with every unusual value; store.Copy compares them.
func TestCopyBetweenDialects(t *testing.T) {
	server := theCluster(t)
	blobs, err := blob.Open(filepath.Join(t.TempDir(), "blobs"))
	must(t, err)
	var files [2]store.Store
	for i, name := range []string{"first.db", "second.db"} {
		c, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), name))
		must(t, err)
		t.Cleanup(func() { must(t, c.Close()) })
		files[i] = store.Store{Catalog: c, Blobs: blobs}
	}
	run := sample("a")
	run.Labels = map[string]string{"k": "odd \"é\" \\ '", "empty": ""}
	run.Request = []byte(`{ "a": "\u0000", "n": 1.0 }`)
	must(t, files[0].Catalog.Create(t.Context(), run))
	run = over(run)
	run.Message, run.Report = "NUL \x00 and \xff", []byte(`[]`)
	run.Events = []catalog.Event{{At: run.CreatedAt, Kind: "connect", Address: []byte("\x00\xff"), Severity: "high", Count: 9}}
	next := many(1000)
	must(t, files[0].Catalog.Commit(t.Context(), run, func() (outputs.Entry, error) {
		e, err := next()
		if e.Size%2 == 0 {
			e.SHA256, e.Rejected, e.Detail = "", outputs.Symlink, []byte("-> \xff\n")
		}
		e.Path = append(e.Path, 0xff, '\n')
		return e, err
	}))
	must(t, files[0].Catalog.Create(t.Context(), func() catalog.Run { b := sample("b"); b.Labels = nil; return b }()))
	b := over(sample("b"))
	must(t, files[0].Catalog.Commit(t.Context(), b, many(0)))

	middle := store.Store{Catalog: opened(t, server.url("runner", migrated(t, server))), Blobs: blobs}
	for _, step := range [][2]store.Store{{files[0], middle}, {middle, files[1]}} {
		copied, err := store.Copy(t.Context(), step[0], step[1])
		if err != nil || copied.Runs != 2 || copied.Outputs != 1000 || !copied.TookOver {
			t.Fatalf("copied %+v, %v", copied, err)
		}
	}
}
