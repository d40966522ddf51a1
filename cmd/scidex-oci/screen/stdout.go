package screen

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// Stdout is standard output. It keeps the first error of a write, so that a command whose text was not written does not
// exit with 0.
type Stdout struct {
	*os.File
	mu  sync.Mutex
	err error
}

// Write is that of the file.
func (o *Stdout) Write(p []byte) (int, error) {
	n, err := o.File.Write(p)
	if err != nil && !errors.Is(err, syscall.EPIPE) { // the reader has closed it
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = cmp.Or(o.err, err)
	}
	return n, err
}

// WriteString is Write for a string.
func (o *Stdout) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// Err is the first error of a write, or nil.
func (o *Stdout) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		return nil
	}
	return fmt.Errorf("not all of the output could be printed: %w", o.err)
}
