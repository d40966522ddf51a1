package s3

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
)

// How removals and hosts that rely on blobs are coordinated without a lock (docs/adr/0025):
//
//   - A removal writes its blobs to gc/open-<random>, only then checks their age again,
//     removes those still old, rewrites gc/last and removes gc/open-<random>.
//   - A host that relies on blobs first makes them young, and only then checks whether something below gc/ names them.
//
// So either the first sees that a blob is young, or the second that it will be removed.
const (
	sweepBelow = "gc/"
	openBelow  = "open-"
	lastName   = "last"
)

const (
	// sweepMost bounds one batch.
	sweepMost = 1000
	// sweepTime is how long after its first write a removal may start removing.
	sweepTime = 5 * time.Minute
	// deadAfter is when an open removal is considered killed, with no request pending. Hosts that rely on blobs judge by
	// their own start: a removal that was alive then, and was killed since, may have removed an early upload without any
	// other trace.
	deadAfter = time.Hour
)

// sweeps are records below gc/.
type sweeps struct {
	last string   // changes with the end of each removal
	open []string // names of those that have not ended
}

// sweeps omits those that were dead at a time.
func (b *Bucket) sweeps(ctx context.Context, at time.Time) (s sweeps, err error) {
	err = b.list(ctx, sweepBelow, func(name string, o minio.ObjectInfo) bool {
		switch {
		case name == lastName:
			s.last = o.ETag
		case strings.HasPrefix(name, openBelow) && at.Sub(o.LastModified) < deadAfter:
			s.open = append(s.open, name)
		}
		return true
	})
	return s, err
}

// spared checks that no open removal names one of the digests.
func (b *Bucket) spared(ctx context.Context, s sweeps, digests []string) error {
	for _, name := range s.open {
		content, err := b.read(ctx, sweepBelow+name)
		if errors.Is(err, fs.ErrNotExist) {
			return b.busy() // it has ended: check again
		}
		if err != nil {
			return err
		}
		named := strings.Fields(string(content))
		slices.Sort(named)
		for _, digest := range digests {
			if _, found := slices.BinarySearch(named, digest); found {
				return b.busy()
			}
		}
	}
	return nil
}

// busy is transient.
func (b *Bucket) busy() error {
	return fmt.Errorf("blob store %s: a gc of another host is removing a blob of the same content: %w", b, blob.ErrTransient)
}

// Remove removes those of the blobs that are still older than before.
func (b *Bucket) Remove(ctx context.Context, blobs []cas.Found, before time.Time) (removed []cas.Found, err error) {
	for part := range slices.Chunk(blobs, sweepMost) {
		gone, err := b.removeSome(ctx, part, before)
		removed = append(removed, gone...)
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// removeSome leaves its record if a request had no answer, which may still be executed: hosts that rely on one of these
// blobs then wait until it counts as dead.
func (b *Bucket) removeSome(ctx context.Context, blobs []cas.Found, before time.Time) (removed []cas.Found, err error) {
	name := sweepBelow + openBelow + rand.Text()
	var text strings.Builder
	for _, f := range blobs {
		fmt.Fprintln(&text, f.SHA256)
	}
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	if err := b.write(ctx, name, []byte(text.String()), minio.PutObjectOptions{}); err != nil {
		return nil, err
	}
	removed, known, err := b.removeEach(ctx, blobs, before)
	if !known {
		return removed, err
	}
	return removed, errors.Join(err, b.write(ctx, sweepBelow+lastName, []byte(rand.Text()), minio.PutObjectOptions{}), b.remove(ctx, name))
}

// removeEach goes on after an error and returns the first. known says that every request was answered.
func (b *Bucket) removeEach(ctx context.Context, blobs []cas.Found, before time.Time) (removed []cas.Found, known bool, err error) {
	old, failed := make([]bool, len(blobs)), make([]error, len(blobs))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, f := range blobs {
		group.Go(func() error {
			old[i], failed[i] = b.removeOld(ctx, f, before)
			return nil
		})
	}
	known = group.Wait() == nil
	for i, f := range blobs {
		if old[i] && failed[i] == nil {
			removed = append(removed, f)
		}
		if failed[i] != nil {
			err = cmp.Or(err, failed[i])
			known = known && answered(failed[i])
		}
	}
	return removed, known, err
}

// answered reports whether the server has answered a request: it will not execute it later.
func answered(err error) bool {
	var answer minio.ErrorResponse
	return errors.As(err, &answer) && answer.StatusCode != 0 && answer.StatusCode != http.StatusBadGateway && answer.StatusCode != http.StatusGatewayTimeout
}

func (b *Bucket) removeOld(ctx context.Context, f cas.Found, before time.Time) (bool, error) {
	now, err := b.stat(ctx, f.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || !now.Modified.Before(before) {
		return false, err
	}
	err = b.remove(ctx, blobsBelow+f.SHA256)
	if errors.Is(err, fs.ErrNotExist) { // another gc was faster
		return false, nil
	}
	return true, err
}

func (b *Bucket) remove(ctx context.Context, name string) error {
	if err := b.client.RemoveObject(ctx, b.Bucket, b.key(name), minio.RemoveObjectOptions{}); err != nil {
		return b.explain("remove "+name, err)
	}
	return nil
}

// CleanUploads aborts multipart uploads started before, and removes the records of killed removals.
func (b *Bucket) CleanUploads(ctx context.Context, before time.Time, dry bool) (n int, err error) {
	key, upload := "", ""
	for {
		page, err := b.client.ListMultipartUploads(ctx, b.Bucket, b.key(blobsBelow), key, upload, "", 1000)
		if minio.ToErrorResponse(err).Code == minio.NoSuchUpload {
			break // some servers answer so if there is none
		}
		if err != nil {
			return n, b.explain("list uploads", err)
		}
		for _, u := range page.Uploads {
			if !u.Initiated.Before(before) {
				continue
			}
			n++
			if dry {
				continue
			}
			if err := b.client.AbortMultipartUpload(ctx, b.Bucket, u.Key, u.UploadID); err != nil {
				return n, b.explain("give up the upload of "+u.Key, err)
			}
		}
		if key, upload = page.NextKeyMarker, page.NextUploadIDMarker; !page.IsTruncated || key == "" && upload == "" {
			break
		}
	}
	if dry {
		return n, nil
	}
	return n, b.cleanSweeps(ctx, before)
}

// cleanSweeps removes the records of killed removals.
func (b *Bucket) cleanSweeps(ctx context.Context, before time.Time) error {
	var dead []string
	err := b.list(ctx, sweepBelow+openBelow, func(name string, o minio.ObjectInfo) bool {
		if o.LastModified.Before(before) {
			dead = append(dead, sweepBelow+openBelow+name)
		}
		return true
	})
	for _, name := range dead {
		err = errors.Join(err, b.remove(ctx, name))
	}
	return err
}
