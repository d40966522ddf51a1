package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// holdLock begins a commit through another handle and returns what ends it.
func holdLock(t *testing.T, path string) (release func() error) {
	t.Helper()
	c := opened(t, path)
	run := sample("holder")
	must(t, c.Create(t.Context(), run))
	run.State = outcome.Complete
	inside, leave, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- c.Commit(context.Background(), run, func() (outputs.Entry, error) {
			close(inside)
			<-leave
			return outputs.Entry{}, io.EOF
		})
	}()
	<-inside
	return func() error {
		close(leave)
		return <-done
	}
}

func TestWaitForLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	c := opened(t, path)
	release := holdLock(t, path)

	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- c.Create(ctx, sample("a")) }()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while another handle writes: error = %v", err)
	}
	if _, err := c.Get(t.Context(), catalog.Key{ID: "holder"}); err != nil {
		t.Errorf("a reader while another handle writes: %v", err)
	}

	c.timeout = 0
	err := c.Create(t.Context(), sample("a"))
	if !busy(err) || !strings.Contains(err.Error(), "try again") {
		t.Errorf("out of patience: error = %v", err)
	}

	c.timeout = timeout
	go func() { result <- c.Create(t.Context(), sample("a")) }()
	must(t, release())
	must(t, <-result)
}

// Goroutines of one handle queue without the file.
func TestQueueInOneHandle(t *testing.T) {
	c := opened(t, filepath.Join(t.TempDir(), "catalog.db"))
	run := sample("holder")
	must(t, c.Create(t.Context(), run))
	run.State = outcome.Complete
	must(t, c.Commit(t.Context(), run, func() (outputs.Entry, error) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Create(ctx, sample("a")); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled in the queue: error = %v", err)
		}
		return outputs.Entry{}, io.EOF
	}))
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "catalog.db")
	keep, err := Open(b.Context(), path)
	must(b, err)
	defer func() { must(b, keep.Close()) }()
	for b.Loop() {
		c, err := Open(b.Context(), path)
		must(b, err)
		must(b, c.Close())
	}
}

// BenchmarkRun is what the catalog adds to one run of its own process.
func BenchmarkRun(b *testing.B) { benchmarkRun(b, outcome.Complete) }

// BenchmarkFailedRun is the same of a run that has an entry in the index by state.
func BenchmarkFailedRun(b *testing.B) { benchmarkRun(b, outcome.Failed) }

func benchmarkRun(b *testing.B, state outcome.State) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "catalog.db")
	for i := 0; b.Loop(); i++ {
		c, err := Open(b.Context(), path)
		must(b, err)
		run := sample(fmt.Sprint("run-", i))
		must(b, c.Create(b.Context(), run))
		run.State = state
		must(b, c.Commit(b.Context(), run, many(10)))
		must(b, c.Close())
	}
}

func BenchmarkCommit100000(b *testing.B) {
	c, err := Open(b.Context(), filepath.Join(b.TempDir(), "catalog.db"))
	must(b, err)
	defer func() { must(b, c.Close()) }()
	for i := 0; b.Loop(); i++ {
		run := sample(fmt.Sprint("run-", i))
		must(b, c.Create(b.Context(), run))
		run.State = outcome.Complete
		must(b, c.Commit(b.Context(), run, many(100_000)))
	}
}

func many(n int) func() (outputs.Entry, error) {
	i := 0
	return func() (outputs.Entry, error) {
		if i == n {
			return outputs.Entry{}, io.EOF
		}
		i++
		return outputs.Entry{
			Path: fmt.Appendf(nil, "results/%02d/file-%06d.csv", i%97, i), Size: int64(i), SHA256: fmt.Sprintf("%064x", i*0x9e3779b1),
			MediaType: "text/csv", Mode: 0o644,
		}, nil
	}
}

// TestCanceledAtTheEnd: a write that is canceled before the COMMIT has committed nothing.
func TestCanceledAtTheEnd(t *testing.T) {
	c := opened(t, filepath.Join(t.TempDir(), "catalog.db"))
	run := sample("a")
	must(t, c.Create(t.Context(), run))
	run.State = outcome.Complete
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Commit(ctx, run, func() (outputs.Entry, error) {
		cancel()
		return outputs.Entry{}, io.EOF
	})
	if got, unread := c.Get(t.Context(), run.Key); !errors.Is(err, context.Canceled) || unread != nil || got.State.Final() {
		t.Errorf("error %v; the run is %s (%v)", err, got.State, unread)
	}
}
