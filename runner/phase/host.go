// Package phase has the values that the phases of a run pass on. It does no I/O.
package phase

import (
	"log/slog"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/egress"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
	"github.com/scidex-ai/scidex-oci/runner/signing"
)

// Unharvested bounds a number of directories and their bytes. If a field is 0, it is no bound.
type Unharvested struct {
	Dirs  int
	Bytes int64
}

// Host is what runs share on this host: the stores, the directories and the rules of the user who started the program. It
// has no methods: each phase takes what it needs.
type Host struct {
	Catalog catalog.Catalog
	Blobs   *blob.Store
	// Root is the directory of catalog, blobs, locks and ingest directories (--root).
	Root string
	// Tmp is where working directories are made: /tmp, or SCIDEX_OCI_TMP.
	Tmp string
	// MinFree is the free space to leave on the file systems of working directories and blobs.
	MinFree freespace.Floor
	// MaxUnharvested bounds the directories that stay because a harvest failed: at one of these bounds no run starts.
	MaxUnharvested Unharvested
	// Private are further files and directories of this program that no analysis of others may read: the catalog and the
	// blob store where they are not below Root.
	Private []string
	// DatabaseHosts are the hosts of the catalog's PostgreSQL (--db), directories of sockets among them.
	DatabaseHosts []string
	// AllowBinds restrict what may be bound; all of them must allow it. Nil: everything may.
	AllowBinds []binds.Allowed
	// Egress says to which hosts analyses may send requests.
	Egress egress.Policy

	// CommitTimeout is how long a commit is retried on transient errors; 0 is 60 s.
	CommitTimeout time.Duration

	// Sign is the key that signs statements of runs; none are made without one. No bind may show its file.
	Sign signing.Key

	// Spans has the traces of runs that ended, for OpenTelemetry; nil: there are none.
	Spans *spans.Queue

	Version string
	Log     *slog.Logger
}
