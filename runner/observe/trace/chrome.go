package trace

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
)

// event is a complete event ("X"), or metadata ("M"). Times are microseconds.
type event struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	TS    *float64       `json:"ts,omitempty"`
	Dur   *float64       `json:"dur,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// Write writes the collected spans as Chrome's trace events, which chrome://tracing and Perfetto open; about is the
// metadata. Times start with the first span.
func (t *Tracer) Write(w io.Writer, about map[string]string) error {
	spans := t.Take()
	// Of two that start together the longer one encloses the other.
	slices.SortStableFunc(spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	events := metadata()
	for _, s := range spans {
		process, _ := s.Lane.row()
		ts, dur := microseconds(s.Start-spans[0].Start), microseconds(s.End-s.Start)
		events = append(events, event{Name: s.Name, Phase: "X", PID: process, TID: s.Lane.thread(), TS: &ts, Dur: &dur})
	}
	return write(w, events, about)
}

// write writes the JSON object form, an event a line.
func write(w io.Writer, events []event, about map[string]string) error {
	of, err := json.Marshal(about)
	if err != nil {
		return err
	}
	text := []byte(`{"displayTimeUnit": "ms", "otherData": ` + string(of) + `, "traceEvents": [`)
	for i, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, '\n'), line...)
	}
	_, err = w.Write(append(text, "\n]}\n"...))
	return err
}

func microseconds(ns int64) float64 { return float64(ns) / 1000 }

// thread is the number of a lane; some viewers treat 0 as none.
func (l Lane) thread() int { return int(l) + 1 }

// metadata names processes and threads and sets their order.
func metadata() []event {
	var all []event
	for process, name := range map[int]string{launcher: "launcher", supervisor: "supervisor", container: "container"} {
		all = append(
			all,
			event{Name: "process_name", Phase: "M", PID: process, Args: map[string]any{"name": name}},
			event{Name: "process_sort_index", Phase: "M", PID: process, Args: map[string]any{"sort_index": process}},
		)
	}
	slices.SortStableFunc(all, func(a, b event) int { return a.PID - b.PID })
	for lane := range lanes {
		process, name := lane.row()
		all = append(
			all,
			event{Name: "thread_name", Phase: "M", PID: process, TID: lane.thread(), Args: map[string]any{"name": name}},
			event{Name: "thread_sort_index", Phase: "M", PID: process, TID: lane.thread(), Args: map[string]any{"sort_index": lane.thread()}},
		)
	}
	return all
}
