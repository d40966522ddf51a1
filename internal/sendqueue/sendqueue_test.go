package sendqueue_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/sendqueue"
)

// TestQueue: items come in their order, and Close waits for a reader that takes some now and then.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []int
		q := sendqueue.New(func(n int) error {
			time.Sleep(9 * time.Second)
			got = append(got, n)
			return nil
		})
		for n := range 5 {
			if err := q.Put(n, 10); err != nil {
				t.Fatal(err)
			}
		}
		if size := q.Size(); size != 50 {
			t.Errorf("%d bytes wait", size)
		}
		if err := q.Wait(t.Context(), 30); err != nil || q.Size() != 20 {
			t.Errorf("%v, %d bytes wait", err, q.Size())
		}
		if err := q.Close(time.Time{}, 10*time.Second); err != nil || !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
			t.Errorf("%v, %d", err, got)
		}
		if err := q.Put(5, 10); err != nil || q.Size() != 0 {
			t.Errorf("after its end: %v", err)
		}
	})
}

// TestStuck: a reader that takes nothing ends the queue after the timeout, and its senders know why.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := make(chan struct{})
		q := sendqueue.New(func(int) error { <-read; return nil })
		_ = q.Put(1, 10)
		time.Sleep(time.Minute)
		begun := time.Now()
		if err := q.WaitFor(10, begun, 5*time.Second); !errors.Is(err, sendqueue.ErrStuck) || time.Since(begun) != 5*time.Second {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		if err := q.Put(2, 10); !errors.Is(err, sendqueue.ErrStuck) || q.Size() != 0 {
			t.Errorf("%v, %d bytes wait", err, q.Size())
		}
		<-q.Failed()
		close(read)
	})
}

// TestFail: the first error is kept, and a context ends only the wait.
func TestFail(t *testing.T) {
	gone, late := errors.New("gone"), errors.New("late")
	hold := make(chan struct{})
	q := sendqueue.New(func(int) error { <-hold; return gone })
	_ = q.Put(1, 10)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	if err := q.Wait(ctx, 10); !errors.Is(err, late) {
		t.Error(err)
	}
	close(hold)
	if err := q.Close(time.Time{}, time.Minute); !errors.Is(err, gone) {
		t.Error(err)
	}
	q.Fail(late)
	if err := q.Put(2, 10); !errors.Is(err, gone) {
		t.Error(err)
	}
}
