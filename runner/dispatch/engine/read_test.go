package engine

import (
	"context"
	"errors"
	"testing"
)

// TestReading: a request that waits for a place has it when another is done, or ends when it is canceled.
func TestReading(t *testing.T) {
	e := &Engine{reads: make(chan struct{}, 1)}
	done, err := e.Reading(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("canceled")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := e.Reading(over); !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
	done()
	if _, err := e.Reading(t.Context()); err != nil {
		t.Error(err)
	}
}
