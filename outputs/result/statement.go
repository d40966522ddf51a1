package result

import (
	"bytes"
	"encoding/json"
)

// The names of the files of a run in a directory or a crate, next to its outputs.
const (
	// File is the result; of a signed run, as it was signed.
	File = "scidex-result.json"
	// StatementFile has the envelopes of a signed statement.
	StatementFile = "scidex-statement.jsonl"
)

// FileContent is what File has. It is the same wherever it is written, so that a run has one digest of it.
func (r Result) FileContent() ([]byte, error) {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(raw, '\n'), nil
}

// Statement names the blobs of a signed statement. The result that was signed is that of the commit, without this field.
type Statement struct {
	SHA256       string `json:"sha256"`        // of the envelopes
	ResultSHA256 string `json:"result_sha256"` // of the result as it was signed
	KeyID        string `json:"key_id"`
}

// Added reports whether an output has the name of a file that an export adds, or is below it: then it is left out. With signed the
// statement is added too.
func Added(path []byte, signed bool) bool {
	first, _, _ := bytes.Cut(path, []byte("/"))
	return string(first) == File || signed && string(first) == StatementFile
}
