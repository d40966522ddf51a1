package execute

import (
	"fmt"
	"io"
	"os"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/runner/execute/streams"
	"github.com/scidex-ai/scidex-oci/runner/inputs"
)

// keepScript copies the script at the start of the run; nil makes nil.
func keepScript(s *inputs.Script, ingest *cas.Ingest) (*streams.Log, error) {
	if s == nil {
		return nil, nil
	}
	kept := streams.NewLog(ingest, inputs.ScriptMax, "")
	if _, err := io.Copy(kept, io.NewSectionReader(s.File, 0, inputs.ScriptMax)); err != nil {
		return kept, fmt.Errorf("keep the script: %w", err)
	}
	return kept, kept.Err()
}

// keptScript returns the script to run: the kept copy, which does not change. Of an empty script there is none.
func keptScript(kept *streams.Log, s *inputs.Script) *os.File {
	switch {
	case kept == nil:
		return nil
	case kept.File() == nil:
		return s.File
	default:
		return kept.File()
	}
}
