package image

import (
	"io"

	"github.com/opencontainers/go-digest"
)

// The phases of an import.
const (
	Reading   = "read"   // a tar whose contents nobody knows yet is hashed
	Copying   = "copy"   // a blob comes into the store
	Unpacking = "unpack" // a layer becomes files
)

// Progress tells how far a blob has come.
type Progress struct {
	Phase  string
	Digest digest.Digest // of the blob; "" where it is not known yet
	Done   int64         // bytes, of those that are stored
	Total  int64         // bytes; Done reaches it at the end
}

// watched tells what was read of r. A nil function is not called.
func watched(r io.Reader, p Progress, tell func(Progress)) io.Reader {
	if tell == nil {
		return r
	}
	return &watcher{r, p, tell}
}

type watcher struct {
	r    io.Reader
	p    Progress
	tell func(Progress)
}

func (w *watcher) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.p.Done += int64(n)
	if n > 0 {
		w.tell(w.p)
	}
	return n, err
}
