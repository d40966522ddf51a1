package recovery

import (
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// GCReport is what gc did or, dry, would do.
type GCReport struct {
	Committed []catalog.Key // runs that had ended and were committed by gc
	Lost      []catalog.Key // runs that were marked lost
	Removed   []string      // directories and control groups removed
	Expired   []ExpiredRun  // runs, or outputs, that retention removed
	// PostProcess are runs whose launcher was killed before their hook had ended.
	PostProcess []catalog.Key
	// Blobs and BlobBytes count the removed unnamed blobs.
	Blobs, BlobBytes int64
	Kept             []string // directories of runs that had ended but were not committed
	Foreign          []string // scidex-analysis-* directories of this user that no record here names; they stay
	Errors           []error
}

// ExpiredRun is a run, or its outputs, that retention removed.
type ExpiredRun struct {
	catalog.Key
	Outputs int64
	Bytes   int64 // of the outputs; a blob may belong to several runs
}

// fail adds an error; nil is none.
func (r *GCReport) fail(err error) {
	if err != nil {
		r.Errors = append(r.Errors, err)
	}
}

// failRun adds the error of a run; nil is none.
func (r *GCReport) failRun(key catalog.Key, err error) {
	if err != nil {
		r.fail(fmt.Errorf("run %s: %w", key, err))
	}
}
