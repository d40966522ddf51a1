package commit

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

func TestRetry(t *testing.T) {
	final := errors.New("final")
	passing := catalog.Transient(errors.New("passing"))
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		answers []error
		want    error
	}{
		{"at once", time.Hour, []error{nil}, nil},
		{"what passes", time.Hour, []error{passing, passing, nil}, nil},
		{"what passes in a blob store", time.Hour, []error{fmt.Errorf("put: %w", blob.ErrTransient), nil}, nil},
		{"what does not", time.Hour, []error{passing, final, nil}, final},
		{"no time", 0, []error{passing, nil}, passing},
	} {
		calls := 0
		err := retry(t.Context(), until(time.Now().Add(tt.timeout)), func() error { calls++; return tt.answers[calls-1] })
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := retry(ctx, until(time.Now().Add(time.Hour)), func() error { cancel(nil); return phase.ErrSuperseded }); !errors.Is(err, phase.ErrSuperseded) {
		t.Errorf("superseded while it was given up: %v", err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	err := retry(ctx, until(time.Now().Add(time.Hour)), func() error { cancel(final); return passing })
	if !errors.Is(err, final) {
		t.Errorf("given up: %v", err)
	}
}
