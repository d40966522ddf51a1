package layout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Has reports whether the blob exists with its size. It does not read it; Writer and Blob do.
func (l *Layout) Has(desc ocispec.Descriptor) (bool, error) {
	if err := Check(desc); err != nil {
		return false, err
	}
	info, err := os.Lstat(l.blobs(desc.Digest.Encoded()))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("blob %s: %w", desc.Digest, err)
	}
	return info.Mode().IsRegular() && info.Size() == desc.Size, nil
}

// Blob opens a blob for reading. If the contents do not match, the read at the end returns ErrCorrupt instead of io.EOF;
// a reader that stops earlier has verified nothing. A missing blob is fs.ErrNotExist.
func (l *Layout) Blob(desc ocispec.Descriptor) (io.ReadCloser, error) {
	if err := Check(desc); err != nil {
		return nil, err
	}
	f, err := openRegular(l.blobs(desc.Digest.Encoded()))
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", desc.Digest, err)
	}
	info, err := f.Stat()
	if err == nil && info.Size() != desc.Size {
		err = fmt.Errorf("%w: it has %d bytes, not %d; pull or import the image again", ErrCorrupt, info.Size(), desc.Size)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("blob %s: %w", desc.Digest, err)
	}
	return &verified{file: f, want: desc, sum: algorithm.Digester()}, nil
}

// verified hashes what it reads and compares at the end. It is only an io.ReadCloser, so that io.Copy takes no shortcut
// around it.
type verified struct {
	file *os.File
	want ocispec.Descriptor
	sum  digest.Digester
	read int64
	err  error // the one that ended it
}

func (v *verified) Read(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	n, err := v.file.Read(p)
	v.read += int64(n)
	v.sum.Hash().Write(p[:n])
	if errors.Is(err, io.EOF) {
		if got := v.sum.Digest(); got != v.want.Digest || v.read != v.want.Size {
			err = fmt.Errorf("blob %s: %w: its %d bytes have the digest %s; pull or import the image again",
				v.want.Digest, ErrCorrupt, v.read, got)
		}
	}
	v.err = err
	return n, err
}

func (v *verified) Close() error { return v.file.Close() }

// whole reads the blob and reports whether it exists and matches.
func (l *Layout) whole(ctx context.Context, desc ocispec.Descriptor) (bool, error) {
	if has, err := l.Has(desc); !has || err != nil {
		return false, err
	}
	r, err := l.Blob(desc)
	if err == nil {
		_, err = io.Copy(io.Discard, interruptible{ctx, r})
		r.Close()
	}
	if errors.Is(err, ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// interruptible ends reading with its context.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i interruptible) Read(p []byte) (int, error) {
	if i.ctx.Err() != nil {
		return 0, context.Cause(i.ctx)
	}
	return i.r.Read(p)
}
