package queue

import "time"

// WorkerState is the lease of a worker (docs/adr/0048).
type WorkerState string

// The states of a lease.
const (
	Held    WorkerState = "held"   // renewed in time
	Silent  WorkerState = "silent" // run out; another worker judges it, or none may yet
	NoLease WorkerState = "none"   // the worker has jobs and no lease
)

// Worker is a worker with a lease or with jobs.
type Worker struct {
	Worker string      `json:"worker"`
	Host   string      `json:"host,omitempty"`
	Lease  WorkerState `json:"lease"`
	Jobs   int         `json:"jobs"`
	// Of a lease, by the database's clock. No renewal since UnbrokenSince came late.
	LengthMS      int64      `json:"length_ms,omitempty"`
	StartedAt     *time.Time `json:"started_at,omitempty"`
	RenewedAt     *time.Time `json:"renewed_at,omitempty"`
	UnbrokenSince *time.Time `json:"unbroken_since,omitempty"`
}
