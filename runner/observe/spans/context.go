// Package spans makes OpenTelemetry spans of the traces of runs, and keeps them until they are sent. It opens no file or
// connection; package otlp sends them.
package spans

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
)

// Context is a W3C trace context (www.w3.org/TR/trace-context). The zero Context is none.
type Context struct {
	Trace   string // 32 hexadecimal digits
	Span    string // 16
	Sampled bool   // its spans are recorded
	State   string // tracestate, passed on as it is
}

const (
	traceDigits, spanDigits = 32, 16
	// stateMost is how much of a tracestate must be passed on.
	stateMost = 512
)

var errParent = errors.New("no traceparent of the W3C's")

// Parse reads a traceparent and its tracestate. A tracestate that is too long or no text is left out.
func Parse(parent, state string) (Context, error) {
	fields := strings.Split(parent, "-")
	if len(fields) < 4 || len(fields[0]) != 2 || fields[0] == "00" && len(fields) != 4 || fields[0] == "ff" || len(fields[3]) != 2 {
		return Context{}, errParent
	}
	for _, field := range fields[:4] {
		if strings.Trim(field, "0123456789abcdef") != "" {
			return Context{}, errParent
		}
	}
	c := Context{Trace: fields[1], Span: fields[2]}
	if len(c.Trace) != traceDigits || len(c.Span) != spanDigits || strings.Trim(c.Trace, "0") == "" || strings.Trim(c.Span, "0") == "" {
		return Context{}, errParent
	}
	flags, _ := hex.DecodeString(fields[3]) // they are hexadecimal
	c.Sampled = flags[0]&1 == 1
	if len(state) <= stateMost && strings.IndexFunc(state, func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
		c.State = state
	}
	return c, nil
}

// Variables are a context as a process has it. An empty TRACESTATE replaces one that belongs to another context.
func (c Context) Variables() map[string]string {
	flags := "00"
	if c.Sampled {
		flags = "01"
	}
	return map[string]string{"TRACEPARENT": "00-" + c.Trace + "-" + c.Span + "-" + flags, "TRACESTATE": c.State}
}

// NewID returns a random id of a span.
func NewID() string {
	var raw [spanDigits / 2]byte
	_, _ = rand.Read(raw[:]) // it never fails
	raw[0] |= 1              // all zeros are none
	return hex.EncodeToString(raw[:])
}
