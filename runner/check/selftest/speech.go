package selftest

import (
	"bytes"
	"strings"
)

// speech takes what a canary writes apart into lines. There are two at most, and not long ones: what is
// beyond is no canary's.
type speech struct {
	lines  chan []byte
	rest   []byte
	excess bool // once the run has ended: it said too much
}

const maxLine = 4 << 20 // bytes

// Write never fails.
func (s *speech) Write(p []byte) (int, error) {
	for part := range bytes.Lines(p) {
		if s.excess || len(s.rest)+len(part) > maxLine {
			s.excess = true
			break
		}
		s.rest = append(s.rest, part...)
		if part[len(part)-1] != '\n' {
			break
		}
		select {
		case s.lines <- s.rest:
			s.rest = nil
		default:
			s.excess = true
		}
	}
	return len(p), nil
}

// head keeps the beginning of what is written to it.
type head struct{ kept []byte }

// Write takes all of p.
func (h *head) Write(p []byte) (int, error) {
	const most = 200 // bytes
	h.kept = append(h.kept, p[:min(len(p), most-len(h.kept))]...)
	return len(p), nil
}

// parenthesis is the first line, where there is one.
func (h *head) parenthesis() string {
	line, _, _ := strings.Cut(strings.ToValidUTF8(string(h.kept), "?"), "\n")
	if line == "" {
		return ""
	}
	return " (" + line + ")"
}
