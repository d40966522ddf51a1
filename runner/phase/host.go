// Package phase has the values that the phases of a run hand on. It does no I/O.
package phase

import (
	"log/slog"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// Host is what runs have in common on this host: the stores, the directories and the rules of who started the program.
// It has no methods: each phase takes of it what it needs.
type Host struct {
	Catalog catalog.Catalog
	Blobs   *blob.Store
	// Root is the directory of catalog, blobs, locks and ingest directories (--root).
	Root string
	// Tmp is where working directories are made: /tmp, or SCIDEX_OCI_TMP.
	Tmp string
	// MinFree is what the file systems of working directories and blob store are to keep free.
	MinFree sandbox.Floor
	// Private are further files and directories of this program that nobody else's analysis may read: the
	// catalog and the blob store where they are not below Root.
	Private []string
	// Database is the URL of the catalog's database (--db), for the directory of its unix socket.
	Database string
	// AllowBinds restrict what may be bound; all of them must allow it. Nil: everything may.
	AllowBinds []binds.Allowed

	// CommitPatience is how long a commit is tried again where what stands in its way may pass; 0 is 60 s.
	CommitPatience time.Duration

	Version string
	Log     *slog.Logger
}
