package workspace

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// ExitRecordPath is the path of the record that belongs to a state file.
func ExitRecordPath(state string) string { return strings.TrimSuffix(state, ".json") + ".aftermath" }

// KeepExitRecord writes the record of a run next to its state file. It is not synced: after a power cut the working
// directory is not known to be whole either.
func KeepExitRecord(state string, ended phase.Ended) error {
	f, err := record.Create(ExitRecordPath(state))
	if err == nil {
		staged := ended.Staged
		err = record.Write(f, ended, func() (entry outputs.Entry, err error) {
			if len(staged) == 0 {
				return entry, io.EOF
			}
			entry, staged = staged[0], staged[1:]
			return entry, nil
		})
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("note for a later gc how the analysis ended: %w", err)
	}
	return nil
}

// ReadExitRecord reads the record of a run, with what was staged. It is missing if the launcher was killed before, and
// damaged if it was killed while writing. The key and the analysis are in the row.
func ReadExitRecord(state string) (ended phase.Ended, err error) {
	content, err := record.Open(ExitRecordPath(state), &ended)
	if err != nil {
		return ended, fmt.Errorf("exit record %q: %w", ExitRecordPath(state), err)
	}
	defer content.Close()
	err = content.Each(func(entry outputs.Entry) { ended.Staged = append(ended.Staged, entry) })
	return ended, err
}
