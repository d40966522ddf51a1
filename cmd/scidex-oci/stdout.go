package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// output is standard output. It keeps the first error of a write, so that no command whose text did not arrive ends with 0.
type output struct {
	*os.File
	mu  sync.Mutex
	err error
}

// Write is that of the file.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.File.Write(p)
	if err != nil && !errors.Is(err, syscall.EPIPE) { // a reader that went away wanted no more
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = cmp.Or(o.err, err)
	}
	return n, err
}

// WriteString is Write for a string.
func (o *output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// lost is why some of the output was not written, or nil.
func (o *output) lost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		return nil
	}
	return fmt.Errorf("not all of the output could be printed: %w", o.err)
}
