package admission

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
	"github.com/scidex-ai/scidex-oci/internal/owned"
	"github.com/scidex-ai/scidex-oci/internal/regular"
)

// take locks so many bytes of a range, in as many parts as it takes, and returns how many there were.
func take(f *os.File, r flock.Range, bytes int64) (taken int64, err error) {
	locked, err := flock.Locked(f, r.From, r.To)
	for _, other := range append(locked, flock.Range{From: r.To, To: r.To}) {
		part := flock.Range{From: r.From, To: min(other.From, r.From+bytes-taken)}
		if err == nil && part.To > part.From {
			err = flock.LockRange(f, unix.F_OFD_SETLK, unix.F_WRLCK, part)
			taken += part.To - part.From
		}
		r.From = other.To
	}
	return taken, err
}

// openOwn opens or makes a file that only the caller can read and write.
func openOwn(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = owned.CheckInfo(info, owned.Use)
	}
	if err == nil && !info.Mode().IsRegular() {
		err = regular.ErrIrregular
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w; remove it", path, err), f.Close())
	}
	return f, nil
}
