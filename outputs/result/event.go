package result

import "time"

// AuditEvent is a refused action of the analysis, or a limit that it reached.
type AuditEvent struct {
	At   time.Time `json:"at"` // the first time
	Kind string    `json:"kind"`
	// Address is the target: "tcp 127.0.0.1:5432", "unix /run/x", "AF_VSOCK", the name of a limit. Escaped if it is not
	// UTF-8, with the exact bytes in the next field.
	Address    string `json:"address"`
	AddressB64 string `json:"address_b64,omitempty"`
	Severity   string `json:"severity"` // "low", "medium", "high"
	Allowed    bool   `json:"allowed"`
	Blocked    bool   `json:"blocked"`
	Count      int64  `json:"count"` // how often
}

// auditMax bounds the events in a result.
const auditMax = 100
