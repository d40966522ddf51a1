package screen

import (
	"errors"
	"syscall"
	"testing"
)

func TestLenientWriterDropsAfterAnError(t *testing.T) {
	calls := 0
	w := &LenientWriter{to: writerFunc(func([]byte) (int, error) { calls++; return 0, syscall.EPIPE })}
	for range 3 {
		if n, err := w.Write([]byte("abc")); n != 3 || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
	}
	if calls != 1 || w.Err() != nil {
		t.Errorf("%d writes, lost %v; want one write, and a closed pipe is no loss", calls, w.Err())
	}
	w = &LenientWriter{to: writerFunc(func([]byte) (int, error) { return 0, syscall.ENOSPC })}
	_, _ = w.Write([]byte("abc"))
	if !errors.Is(w.Err(), syscall.ENOSPC) {
		t.Errorf("lost %v, want ENOSPC", w.Err())
	}
}
