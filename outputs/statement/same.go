package statement

import (
	"maps"
	"slices"
)

// mayChange are the fields of a result that may change after the commit.
var mayChange = []string{"pinned", "outputs_removed_at", "post_process", "kept", "statement", "reused_from", "line"}

// outcome are the fields that a failed hook or export also changes.
var outcome = []string{"state", "reason", "message", "exit_code"}

// SameResult compares the result that a catalog has now with the one that was signed. The error names the first field that differs
// and may not.
func SameResult(now, signed []byte) error {
	current, err := parseObject(now)
	if err != nil {
		return err
	}
	was, err := parseObject(signed)
	if err != nil {
		return err
	}
	later := current["reason"] == "post_process" || current["reason"] == "export"
	for _, r := range []object{current, was} {
		maps.DeleteFunc(r, func(name string, _ any) bool {
			return slices.Contains(mayChange, name) || later && slices.Contains(outcome, name)
		})
	}
	return difference("", current, was)
}
