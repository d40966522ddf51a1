package outputs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// many adds entries whose contents are their number, every third one a refusal, until the queue fails.
func many(q *queue, n int) error {
	for i := range n {
		e := Entry{Path: fmt.Append(nil, i)}
		if i%3 == 0 {
			e.Rejected = Symlink
			if err := q.add(e, nil); err != nil {
				return err
			}
			continue
		}
		contents := strings.Repeat(fmt.Sprintln(i), i%7*100)
		room, err := q.buffer(int64(len(contents)))
		if err != nil {
			return err
		}
		if len(room) <= len(contents) {
			return fmt.Errorf("room for %d bytes in place of more than %d", len(room), len(contents))
		}
		if err := q.add(e, room[:copy(room, contents)]); err != nil {
			return err
		}
	}
	return nil
}

func TestQueueKeepsTheOrder(t *testing.T) {
	const n = 5000
	var next int
	q := newQueue(t.Context(), func(e Entry) error {
		contents := strings.Repeat(fmt.Sprintln(next), next%7*100)
		want := digest(contents)
		if next%3 == 0 {
			want = ""
		}
		if string(e.Path) != fmt.Sprint(next) || e.SHA256 != want {
			t.Errorf("entry %d is %s, %q", next, e.Path, e.SHA256)
		}
		next++
		return nil
	})
	if err := errors.Join(many(q, n), q.end()); err != nil || next != n {
		t.Errorf("%d entries, %v", next, err)
	}
}

// TestQueueEnds: nothing is passed on after an error or the end of the context, and add returns it.
func TestQueueEnds(t *testing.T) {
	full := errors.New("full")
	ctx, cancel := context.WithCancel(t.Context())
	for _, c := range []struct {
		want error
		fail func() error
	}{
		{full, func() error { return full }},
		{context.Canceled, func() error { cancel(); return nil }},
	} {
		calls := 0
		q := newQueue(ctx, func(Entry) error {
			if calls++; calls == 300 {
				return c.fail()
			}
			return nil
		})
		err := many(q, 100_000)
		if ended := q.end(); !errors.Is(err, c.want) || ended != nil || calls != 300 {
			t.Errorf("%v, then %v, after %d calls; want %v", err, ended, calls, c.want)
		}
		q = newQueue(context.Background(), func(Entry) error { return full })
		if err := many(q, 3); err != nil {
			t.Error(err)
		}
		if err := q.end(); !errors.Is(err, full) {
			t.Errorf("at the end: %v", err)
		}
	}
}
