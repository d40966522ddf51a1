package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// events are the lines of --events, as the documents promise them.
type events []eventLine

type eventLine struct {
	V       int             `json:"v"`
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Time    time.Time       `json:"time"`
	Data    json.RawMessage `json:"data"`
	Dropped *droppedEvents  `json:"dropped,omitempty"`
}

type droppedEvents struct {
	Log   int64 `json:"log"`
	Usage int64 `json:"usage"`
}

type createdEvent struct {
	Attempt  int               `json:"attempt"`
	Labels   map[string]string `json:"labels,omitempty"`
	Analysis request           `json:"analysis"`
}

type usageEvent struct {
	Attempt     int   `json:"attempt"`
	ElapsedMS   int64 `json:"elapsed_ms"`
	CPUMS       int64 `json:"cpu_ms"`
	MemoryBytes int64 `json:"memory_bytes"`
	Processes   int64 `json:"processes"`
	Suspended   bool  `json:"suspended"`
}

type logEvent struct {
	Attempt int    `json:"attempt"`
	Stream  string `json:"stream"`
	Offset  int64  `json:"offset"`
	Text    string `json:"text,omitempty"`
	Base64  []byte `json:"base64,omitempty"`
}

type exitedEvent struct {
	Attempt  int       `json:"attempt"`
	Reason   string    `json:"reason"`
	ExitCode int       `json:"exit_code"`
	Signal   *string   `json:"signal"`
	ExitedAt time.Time `json:"exited_at"`
}

type harvestedEvent struct {
	Attempt  int   `json:"attempt"`
	Outputs  int64 `json:"outputs"`
	Rejected int64 `json:"rejected"`
	Bytes    int64 `json:"bytes"`
}

// eventTypes make the data of each type.
var eventTypes = map[string]func() any{
	"run.created":   func() any { return &createdEvent{} },
	"run.started":   func() any { return &result{} },
	"usage":         func() any { return &usageEvent{} },
	"log":           func() any { return &logEvent{} },
	"run.exited":    func() any { return &exitedEvent{} },
	"run.harvested": func() any { return &harvestedEvent{} },
	"run.finished":  func() any { return &result{} },
}

// parseEvents reads whole lines: each must be one event of the schema, without other fields.
func parseEvents(text []byte) (all events, err error) {
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		return nil, fmt.Errorf("the last line is cut short: %q", text[max(0, len(text)-100):])
	}
	for line := range bytes.Lines(text) {
		var e eventLine
		err := errors.Join(validate("events.json", line), strict(line, &e))
		if err == nil {
			err = e.check()
		}
		if err != nil {
			return nil, fmt.Errorf("%w in %s", err, line)
		}
		all = append(all, e)
	}
	return all, nil
}

func (e eventLine) check() error {
	make, ok := eventTypes[e.Type]
	if !ok {
		return fmt.Errorf("unknown type %q", e.Type)
	}
	data := make()
	if r, ok := data.(*result); ok {
		if err := r.read(e.Data); err != nil {
			return err
		}
		if r.ID != e.ID || (r.State == "running") != (e.Type == "run.started") {
			return fmt.Errorf("%s of %q: state %q of %q", e.Type, e.ID, r.State, r.ID)
		}
		return nil
	}
	return strict(e.Data, data)
}

// of are the events of one run.
func (all events) of(id string) (its events) {
	for _, e := range all {
		if e.ID == id {
			its = append(its, e)
		}
	}
	return its
}

// lifecycle are the types but for usage and log, one word each.
func (all events) lifecycle() string {
	var types []string
	for _, e := range all {
		if name, ok := strings.CutPrefix(e.Type, "run."); ok {
			types = append(types, name)
		}
	}
	return strings.Join(types, " ")
}

// read decodes the data of the only event of a type.
func (all events) read(name string, v any) error {
	i := slices.IndexFunc(all, func(e eventLine) bool { return e.Type == name })
	if i < 0 || slices.ContainsFunc(all[i+1:], func(e eventLine) bool { return e.Type == name }) {
		return fmt.Errorf("not one %s in %d events", name, len(all))
	}
	return json.Unmarshal(all[i].Data, v)
}

// stream puts the log events of a stream together, and counts the bytes that are missing between them.
func (all events) stream(name string) (text string, missing int64, err error) {
	var parts strings.Builder
	for _, e := range all {
		var l logEvent
		if e.Type != "log" {
			continue
		}
		if err := json.Unmarshal(e.Data, &l); err != nil {
			return "", 0, err
		}
		if l.Stream != name {
			continue
		}
		end := int64(parts.Len()) + missing
		if l.Offset < end {
			return "", 0, fmt.Errorf("offset %d after %d", l.Offset, end)
		}
		missing += l.Offset - end
		parts.WriteString(l.Text)
		parts.Write(l.Base64)
	}
	return parts.String(), missing, nil
}

// dropped sums up what was left out.
func (all events) dropped() (d droppedEvents) {
	for _, e := range all {
		if e.Dropped != nil {
			d.Log, d.Usage = d.Log+e.Dropped.Log, d.Usage+e.Dropped.Usage
		}
	}
	return d
}

func eventsCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 || neg {
		ts.Fatalf("usage: events FILE LIFECYCLE [stdout]")
	}
	all, err := parseEvents([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	if got := all.lifecycle(); got != args[1] {
		ts.Fatalf("events %q, want %q", got, args[1])
	}
	if len(args) == 3 && string(all[len(all)-1].Data)+"\n" != ts.ReadFile(args[2]) {
		ts.Fatalf("run.finished is not the result: %s", all[len(all)-1].Data)
	}
}
