package batch

import (
	"encoding/json"
	"errors"
	"fmt"
)

// CheckKind refuses a file by its first line, if it has results or is no JSON Lines at all: else each of its lines would
// be refused for a reason that does not say so.
func CheckKind(first []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(first, &object); err == nil && object["v"] != nil && object["state"] != nil {
		return errors.New("has results, not analyses; give the file with the analyses, and --resume to skip what is done")
	}
	if first[0] != '{' || len(first) == 1 {
		return fmt.Errorf(`is no JSON Lines: it starts with %.40q; give one JSON object a line, such as {"id": "a", "script": "fit.py"}`, first)
	}
	return nil
}
