package crate

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// endless gives bytes as long as it is read, up to a MiB.
type endless struct{ given int }

func (e *endless) Read(p []byte) (int, error) {
	if e.given += len(p); e.given > 1<<20 {
		return 0, errors.New("it is read without end")
	}
	return len(p), nil
}

func (*endless) Close() error { return nil }

// No more is read of a file than it is to have, and one byte.
func TestReadIsBounded(t *testing.T) {
	what, err := named{size: 10, sha256: "x"}.compare("f", func() (io.ReadCloser, error) { return &endless{}, nil })
	if !strings.Contains(what, "more than the 10 bytes") || err != nil {
		t.Errorf("an endless file is %q, %v", what, err)
	}
}
