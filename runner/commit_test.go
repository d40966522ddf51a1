package runner

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

func TestInsist(t *testing.T) {
	final := errors.New("final")
	passing := catalog.Passing(errors.New("passing"))
	for _, tt := range []struct {
		name     string
		patience time.Duration
		answers  []error
		want     error
	}{
		{"at once", time.Hour, []error{nil}, nil},
		{"what passes", time.Hour, []error{passing, passing, nil}, nil},
		{"what does not", time.Hour, []error{passing, final, nil}, final},
		{"no patience", 0, []error{passing, nil}, passing},
	} {
		calls := 0
		err := insist(t.Context(), until(time.Now().Add(tt.patience)), func() error { calls++; return tt.answers[calls-1] })
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	err := insist(ctx, until(time.Now().Add(time.Hour)), func() error { cancel(final); return passing })
	if !errors.Is(err, final) {
		t.Errorf("given up: %v", err)
	}
}
