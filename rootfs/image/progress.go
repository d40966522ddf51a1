package image

import (
	"io"

	"github.com/opencontainers/go-digest"
)

// The phases of an import.
const (
	Reading   = "read"   // a tar with unknown contents is hashed
	Copying   = "copy"   // a blob enters the store
	Unpacking = "unpack" // a layer is unpacked
)

// Progress is the progress of a blob.
type Progress struct {
	Phase  string
	Digest digest.Digest // of the blob; "" if not yet known
	Done   int64         // bytes, as stored
	Total  int64         // bytes; Done reaches it at the end
}

// watched reports reads of r. tell may be nil.
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
