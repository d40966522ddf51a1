package main

import "os"

// stream is where one of the analysis' two streams goes. Close it after the run.
type stream struct {
	patient *patient
	escaper *escaper // nil where bytes go through untouched
}

// newStream makes the way to f: untouched where f is a file or a pipe, escaped and in order with the
// status line where it is a terminal.
func newStream(f *os.File, screen *console) *stream {
	if !isTerminal(f) {
		return &stream{patient: &patient{to: f}}
	}
	s := &stream{patient: &patient{to: screen.beside(f)}}
	s.escaper = &escaper{to: s.patient}
	return s
}

// Write never fails.
func (s *stream) Write(p []byte) (int, error) {
	if s.escaper != nil {
		return s.escaper.Write(p)
	}
	return s.patient.Write(p)
}

// Close prints what was held back and returns the error that cost output, if one did.
func (s *stream) Close() error {
	if s.escaper != nil {
		_ = s.escaper.Close() // a patient writer does not fail
	}
	return s.patient.lost()
}

// tail keeps the last limit bytes of what is written to it.
type tail struct {
	limit int
	kept  []byte
}

// Write takes all of p.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > t.limit {
		p = p[len(p)-t.limit:]
	}
	if over := len(t.kept) + len(p) - t.limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	t.kept = append(t.kept, p...)
	return n, nil
}

// String is what was kept.
func (t *tail) String() string { return string(t.kept) }
