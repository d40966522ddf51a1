package relational

import (
	"encoding/json"
	"strings"
)

// actionID is the action_id of a report, 64 hexadecimal digits; nil if missing or invalid.
func actionID(report json.RawMessage) *string {
	var has struct {
		ActionID any `json:"action_id"`
	}
	_ = json.Unmarshal(report, &has) // only an object has one
	id, ok := has.ActionID.(string)
	if !ok || len(id) != 64 || strings.Trim(id, "0123456789abcdef") != "" {
		return nil
	}
	return &id
}
