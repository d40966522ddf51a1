// Package event holds what `--events` writes during runs: one Event a line, as JSON. docs/schema/events.json describes the
// lines.
package event

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// version is an event's `v`.
const version = 1

// Type is the type of an event, and of its data.
type Type string

// The types, in the order in which a run has them. A run that does not reach its first instruction has no Started, Exited
// and Harvested; one whose end was not observed, or whose harvest failed, lacks that one. Every run and every refused
// request ends with Finished, the only event of the latter.
const (
	TypeCreated   Type = "run.created"   // Created: the run is in the catalog
	TypeStarted   Type = "run.started"   // the result as it is then: the analysis has started
	TypeUsage     Type = "usage"         // Usage, about once a second
	TypeLog       Type = "log"           // Log: what the analysis wrote
	TypeRequest   Type = "request"       // Request: one that has ended, through the proxy of the run
	TypeExited    Type = "run.exited"    // Exited: every process of the analysis is dead
	TypeHarvested Type = "run.harvested" // Harvested: the working directory is read
	TypeFinished  Type = "run.finished"  // the result: committed, exported and cleaned, or refused
)

// Event is an event of a run. Readers ignore unknown types and fields; both are only added.
type Event struct {
	V    int       `json:"v"` // 1
	Type Type      `json:"type"`
	ID   string    `json:"id"`   // of the run; empty if a refused request has none
	Time time.Time `json:"time"` // UTC, in milliseconds
	Data any       `json:"data"`
	// Dropped is what of this run was left out since the event before, for lack of a reader.
	Dropped *Dropped `json:"dropped,omitempty"`
}

// Dropped counts events.
type Dropped struct {
	Log     int64 `json:"log"`
	Usage   int64 `json:"usage"`
	Request int64 `json:"request,omitempty"`
}

// Count adds an event that was left out.
func (d *Dropped) Count(e Event) {
	switch e.Type {
	case TypeLog:
		d.Log++
	case TypeRequest:
		d.Request++
	default:
		d.Usage++
	}
}

// New makes a current event.
func New(t Type, id string, data any) Event {
	return Event{V: version, Type: t, ID: id, Time: time.Now().UTC().Truncate(time.Millisecond), Data: data}
}

// Optional reports whether an event may be dropped for a slow reader: its content comes again, or is kept elsewhere.
func (e Event) Optional() bool {
	return e.Type == TypeUsage || e.Type == TypeLog || e.Type == TypeRequest
}

// Created are the data of TypeCreated.
type Created struct {
	Attempt  int               `json:"attempt"`
	Labels   map[string]string `json:"labels,omitempty"`
	Analysis json.RawMessage   `json:"analysis"` // the request with its defaults filled in, as in the result
}

// Usage are the data of TypeUsage. During suspension it is used up to then.
type Usage struct {
	Attempt     int   `json:"attempt"`
	ElapsedMS   int64 `json:"elapsed_ms"` // since the start, without the time in which it was suspended
	CPUMS       int64 `json:"cpu_ms"`     // used so far
	MemoryBytes int64 `json:"memory_bytes"`
	Processes   int64 `json:"processes"` // and threads
	Suspended   bool  `json:"suspended"`
}

// Request are the data of TypeRequest.
type Request struct {
	Attempt int `json:"attempt"`
	result.Request
}

// Exited are the data of TypeExited. A missing output or a failed harvest can still change the end.
type Exited struct {
	Attempt  int            `json:"attempt"`
	Reason   outcome.Reason `json:"reason"`    // as far as it is known
	ExitCode outcome.Code   `json:"exit_code"` // that the command would have
	Signal   outcome.Signal `json:"signal"`    // that ended it: "SIGSEGV"
	ExitedAt time.Time      `json:"exited_at"`
}

// Harvested are the data of TypeHarvested.
type Harvested struct {
	Attempt  int   `json:"attempt"`
	Outputs  int64 `json:"outputs"`
	Rejected int64 `json:"rejected"`
	Bytes    int64 `json:"bytes"` // of all outputs together
}

// logMax is how many bytes of a stream one event holds at most.
const logMax = 16 << 10

// Log are the data of TypeLog: a part of one of the analysis' streams, cut anywhere but inside a character. What is beyond
// --log-size is in no event and no log.
type Log struct {
	Attempt int     `json:"attempt"`
	Stream  string  `json:"stream"` // "stdout", "stderr"
	Offset  int64   `json:"offset"` // of the first byte in the stream
	Text    *string `json:"text,omitempty"`
	Base64  []byte  `json:"base64,omitempty"` // instead of Text, if that would not be UTF-8
}

// NewLog makes the data of a part of a stream.
func NewLog(attempt int, stream string, offset int64, part []byte) Log {
	l := Log{Attempt: attempt, Stream: stream, Offset: offset}
	if utf8.Valid(part) {
		text := string(part)
		l.Text = &text
	} else {
		l.Base64 = part
	}
	return l
}

// Size is its number of bytes of the stream.
func (l Log) Size() int {
	if l.Text != nil {
		return len(*l.Text)
	}
	return len(l.Base64)
}
