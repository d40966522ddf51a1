package catalogtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

func testCommit(t *testing.T, d Driver) {
	for _, state := range []outcome.State{outcome.Complete, outcome.Failed, outcome.Canceled, outcome.Error, outcome.Lost} {
		t.Run(string(state), func(t *testing.T) {
			c := fresh(t, d)
			run := ended(create(t, c, intent("a", 1)))
			run.State = state
			partial := file("partial")
			partial.Partial = true
			moved := file("moved")
			moved.Ingest = "17"
			entries := []outputs.Entry{file("b"), moved, partial, refused("link", outputs.Symlink, "-> \xff")}
			must(t, c.Commit(t.Context(), run, from(entries...)))
			run.OutputsTotal, run.RejectedTotal = 3, 1
			wantRun(t, get(t, c, "a", 1), run)
			entries[1].Ingest = ""
			wantEntries(t, listing(t, c, run.Key), entries)
		})
	}
}

// A second commit is a retry after a lost reply.
func testCommitOnce(t *testing.T, d Driver) {
	c := fresh(t, d)
	want := finish(t, c, intent("a", 1), file("first"))
	want.OutputsTotal = 1
	other := want
	other.State, other.Message, other.ExitCode = outcome.Lost, "another", 1
	later := want
	later.FinishedAt = later.FinishedAt.Add(time.Second)
	calls := 0
	nothing := func() (outputs.Entry, error) {
		calls++
		return outputs.Entry{}, errors.New("nothing to read here")
	}
	must(t, c.Commit(t.Context(), want, nothing))
	wantError(t, "Commit of another state", c.Commit(t.Context(), other, nothing), catalog.ErrEnded)
	wantError(t, "Commit of another end", c.Commit(t.Context(), later, nothing), catalog.ErrEnded)
	if calls != 0 {
		t.Errorf("next was called %d times for a run that has ended", calls)
	}
	wantRun(t, get(t, c, "a", 1), want)
	wantEntries(t, listing(t, c, want.Key), []outputs.Entry{file("first")})
}

// gc ends a lost run with few values.
func testCommitKeepsTheRequest(t *testing.T, d Driver) {
	c := fresh(t, d)
	want := intent("a", 1)
	want.StartedAt = created().Add(time.Second)
	create(t, c, want)
	lost := catalog.Run{
		Key: want.Key, Outcome: outcome.Outcome{State: outcome.Lost, Reason: "supervisor_lost", Message: "not UTF-8: \xff", ExitCode: 125},
		FinishedAt: created().Add(time.Minute), OutputsTotal: 7,
	}
	must(t, c.Commit(t.Context(), lost, from()))
	want.State, want.Reason, want.ExitCode, want.FinishedAt = lost.State, lost.Reason, lost.ExitCode, lost.FinishedAt
	want.Message = "not UTF-8: \uFFFD"
	wantRun(t, get(t, c, "a", 1), want)
}

func testCommitRefuses(t *testing.T, d Driver) {
	c := fresh(t, d)
	err := c.Commit(t.Context(), ended(intent("missing", 1)), from())
	wantError(t, "a run that was never created", err, catalog.ErrNotFound)

	run := create(t, c, intent("a", 1))
	err = c.Commit(t.Context(), ended(intent("a", 2)), from())
	wantError(t, "another attempt", err, catalog.ErrNotFound)
	for _, state := range []outcome.State{outcome.Running, outcome.Queued, "asleep", ""} {
		bad := ended(run)
		bad.State = state
		if err := c.Commit(t.Context(), bad, from()); err == nil {
			t.Errorf("state %q was committed", state)
		}
	}
	wantRun(t, get(t, c, "a", 1), run)
}

func testCommitAllOrNothing(t *testing.T, d Driver) {
	broken := errors.New("broken")
	noDigest, badDigest, setID := file("no digest"), file("bad digest"), file("set-id")
	noDigest.SHA256, badDigest.SHA256, setID.Mode = "", "xyz", 0o4755
	tests := []struct {
		name string
		last func() (outputs.Entry, error)
		want error
	}{
		{"next fails", func() (outputs.Entry, error) { return outputs.Entry{}, broken }, broken},
		{"listing cut short", func() (outputs.Entry, error) { return outputs.Entry{}, fmt.Errorf("read: %w", io.EOF) }, io.EOF},
		{"listing cut in an entry", func() (outputs.Entry, error) { return outputs.Entry{}, io.ErrUnexpectedEOF }, io.ErrUnexpectedEOF},
		{"path twice", func() (outputs.Entry, error) { return file("1"), nil }, nil},
		{"no digest", func() (outputs.Entry, error) { return noDigest, nil }, nil},
		{"bad digest", func() (outputs.Entry, error) { return badDigest, nil }, nil},
		{"set-id mode", func() (outputs.Entry, error) { return setID, nil }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := fresh(t, d)
			run := create(t, c, intent("a", 1))
			first := from(file("1"), file("2"), refused("3", outputs.FIFO, ""))
			count := 0
			err := c.Commit(t.Context(), ended(run), func() (outputs.Entry, error) {
				if count++; count <= 3 {
					return first()
				}
				return tt.last()
			})
			if err == nil {
				t.Fatal("it was committed")
			}
			if tt.want != nil {
				wantError(t, "commit", err, tt.want)
			}
			wantRun(t, get(t, c, "a", 1), run)
			wantEntries(t, listing(t, c, run.Key), nil)

			must(t, c.Commit(t.Context(), ended(run), from(file("1")))) // the retry
			wantEntries(t, listing(t, c, run.Key), []outputs.Entry{file("1")})
		})
	}
	t.Run("next panics", func(t *testing.T) {
		c := fresh(t, d)
		run := create(t, c, intent("a", 1))
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic of next was swallowed")
				}
			}()
			_ = c.Commit(t.Context(), ended(run), func() (outputs.Entry, error) { panic("next") })
		}()
		wantRun(t, get(t, c, "a", 1), run)
		must(t, c.Commit(t.Context(), ended(run), from()))
	})
}

func testCommitCancelled(t *testing.T, d Driver) {
	c := fresh(t, d)
	run := create(t, c, intent("a", 1))
	for _, after := range []int{0, 1, 3} {
		ctx, cancel := context.WithCancel(t.Context())
		next := from(file("1"), file("2"), file("3"))
		count := 0
		if after == 0 {
			cancel()
		}
		err := c.Commit(ctx, ended(run), func() (outputs.Entry, error) {
			if count++; count >= after {
				cancel()
			}
			return next()
		})
		cancel()
		wantError(t, fmt.Sprintf("cancelled in call %d", after), err, context.Canceled)
		wantRun(t, get(t, c, "a", 1), run)
		wantEntries(t, listing(t, c, run.Key), nil)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, "create", c.Create(ctx, intent("b", 1)), context.Canceled)
	_, err := c.List(ctx, catalog.Filter{})
	wantError(t, "list", err, context.Canceled)
	must(t, c.Commit(t.Context(), ended(run), from(file("1"))))
}
