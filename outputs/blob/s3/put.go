package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
)

const (
	// parallel bounds parallel requests.
	parallel = 16
	// partSize is the part size, in bytes, of a multipart upload, used for larger objects. With 10,000 parts, the maximum,
	// an object may have 640 GB.
	partSize = 64 << 20
	// partsAtOnce limits parallel parts.
	partsAtOnce = 4
	// smallBlob is the size, in bytes, up to which a blob is uploaded without a HEAD first.
	smallBlob = 128 << 10
	// young is the maximum age of an object that is used as it is. Nothing is removed before twice this age.
	young = 12 * time.Hour
)

// Keep uploads blobs that are missing, or so old that another host may remove them.
func (b *Bucket) Keep(ctx context.Context, digests []string, local func(string) (*os.File, error), kept func()) error {
	for {
		began := time.Now()
		before, err := b.sweeps(ctx, began)
		if err != nil {
			return err
		}
		if err := b.keepEach(ctx, digests, local, kept); err != nil {
			return err
		}
		after, err := b.sweeps(ctx, began)
		if err != nil {
			return err
		}
		if before.last == after.last {
			return b.spared(ctx, after, digests)
		}
		// A removal has ended since the look-up, and may have removed what that found.
	}
}

func (b *Bucket) keepEach(ctx context.Context, digests []string, local func(string) (*os.File, error), kept func()) error {
	group, each := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, digest := range digests {
		if each.Err() != nil {
			break
		}
		group.Go(func() error { return b.keep(each, digest, local, kept) })
	}
	return cmp.Or(group.Wait(), ctx.Err())
}

// keep uploads a small file without a HEAD, which takes as long, and skips a larger object that is young and has the size
// and checksum of the local file.
func (b *Bucket) keep(ctx context.Context, digest string, local func(string) (*os.File, error), kept func()) error {
	f, err := local(digest)
	if errors.Is(err, fs.ErrNotExist) {
		return b.refresh(ctx, digest)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > smallBlob {
		whole, err := b.whole(ctx, digest, f, info.Size())
		if whole || err != nil {
			return err
		}
	}
	if err := b.put(ctx, digest, f, info.Size()); err != nil {
		return err
	}
	kept()
	return nil
}

// whole reports whether an object is young and, by the server's metadata, has the content of the local file.
func (b *Bucket) whole(ctx context.Context, digest string, f *os.File, size int64) (bool, error) {
	there, err := b.client.StatObject(ctx, b.Bucket, b.blobKey(digest), minio.StatObjectOptions{Checksum: true})
	if err != nil {
		if err = b.explain("blob "+digest, err); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	if there.Size != size || time.Since(there.LastModified) >= young {
		return false, nil
	}
	sum, err := hex.DecodeString(digest)
	if err != nil || there.ChecksumSHA256 == base64.StdEncoding.EncodeToString(sum) {
		return err == nil, err
	}
	tag, err := tagOf(f, size)
	return err == nil && there.ChecksumSHA256 == "" && tag == strings.Trim(there.ETag, `"`), err
}

// tagOf is the ETag that S3 gives to the objects of put, unless it encrypts them with its own key.
func tagOf(f io.ReaderAt, size int64) (string, error) {
	all := md5.New() // against damage, not fraud
	if size <= partSize {
		_, err := io.Copy(all, io.NewSectionReader(f, 0, size))
		return hex.EncodeToString(all.Sum(nil)), err
	}
	n := int64(0)
	for ; n*partSize < size; n++ {
		part := md5.New()
		if _, err := io.Copy(part, io.NewSectionReader(f, n*partSize, min(partSize, size-n*partSize))); err != nil {
			return "", err
		}
		all.Write(part.Sum(nil))
	}
	return fmt.Sprintf("%x-%d", all.Sum(nil), n), nil
}

// refresh makes an object young that has no local file: the server copies it onto itself.
func (b *Bucket) refresh(ctx context.Context, digest string) error {
	there, err := b.stat(ctx, digest)
	if err != nil || time.Since(there.Modified) < young {
		return err
	}
	key := b.blobKey(digest)
	_, err = b.slow.ComposeObject(ctx,
		minio.CopyDestOptions{Bucket: b.Bucket, Object: key, ReplaceMetadata: true, UserMetadata: map[string]string{"kept": time.Now().UTC().Format(time.RFC3339)}},
		minio.CopySrcOptions{Bucket: b.Bucket, Object: key})
	if err != nil {
		return b.explain("copy blob "+digest+" onto itself", err)
	}
	if there, err = b.stat(ctx, digest); err == nil && time.Since(there.Modified) >= young {
		err = fmt.Errorf("blob store %s: the server does not make the blob %s new when it is copied onto itself", b, digest)
	}
	return err
}

// Replace puts an object, whatever is there.
func (b *Bucket) Replace(ctx context.Context, digest string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return b.put(ctx, digest, f, info.Size())
}

// put writes an object; the server verifies its digest.
func (b *Bucket) put(ctx context.Context, digest string, f *os.File, size int64) error {
	if size <= partSize {
		return b.putWhole(ctx, digest, f, size)
	}
	return b.putParts(ctx, digest, f, size)
}

// checksumHeader is stored by servers that support it.
const checksumHeader = "x-amz-checksum-sha256"

func (b *Bucket) putWhole(ctx context.Context, digest string, f *os.File, size int64) error {
	sum, err := hex.DecodeString(digest)
	if err != nil {
		return err
	}
	options := wholeBody(minio.PutObjectOptions{UserMetadata: map[string]string{checksumHeader: base64.StdEncoding.EncodeToString(sum)}})
	return retry(ctx, func() error {
		put, err := b.client.PutObject(ctx, b.Bucket, b.blobKey(digest), unseekable(io.NewSectionReader(f, 0, size), size), size, "", digest, options)
		if err != nil {
			return b.explain("put blob "+digest, err)
		}
		return b.took(digest, put.ChecksumSHA256)
	})
}

// took compares the checksum of the answer, which not every server gives. The ETag is no checksum if the server encrypts.
func (b *Bucket) took(digest, answered string) error {
	got, err := base64.StdEncoding.DecodeString(answered)
	if answered == "" || err == nil && hex.EncodeToString(got) == digest {
		return nil
	}
	return fmt.Errorf("blob store %s: what was put with the digest %s is kept with the checksum %q, the server says: %w", b, digest, answered, blob.ErrTransient)
}

// wholeBody sends the body as it is, signed by its digest. Otherwise the client signs it in chunks over plain HTTP, and some
// servers store the chunk headers as content.
func wholeBody(options minio.PutObjectOptions) minio.PutObjectOptions {
	options.DisableContentSha256 = true
	return options
}

// putParts uploads a large object. The file is read once more before, since the server verifies only parts.
func (b *Bucket) putParts(ctx context.Context, digest string, f *os.File, size int64) (err error) {
	if got, err := sumOf(f, 0, size); err != nil || got != digest {
		return errors.Join(fmt.Errorf("%w: the contents of %s have the digest %s", cas.ErrCorrupt, f.Name(), got), err)
	}
	key := b.blobKey(digest)
	about := "put blob " + digest
	upload, err := b.client.NewMultipartUpload(ctx, b.Bucket, key, minio.PutObjectOptions{})
	if err != nil {
		return b.explain(about, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.abort(ctx, key, upload))
		}
	}()
	parts := make([]minio.CompletePart, (size+partSize-1)/partSize)
	group, each := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	for i := range parts {
		group.Go(func() (err error) {
			part := io.NewSectionReader(f, int64(i)*partSize, min(partSize, size-int64(i)*partSize))
			return retry(each, func() (err error) {
				parts[i], err = b.putPart(each, key, upload, i+1, part)
				return err
			})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	_, err = b.slow.CompleteMultipartUpload(ctx, b.Bucket, key, upload, parts, minio.PutObjectOptions{})
	return b.explained(about, err)
}

func (b *Bucket) putPart(ctx context.Context, key, upload string, n int, part *io.SectionReader) (done minio.CompletePart, err error) {
	if err := ctx.Err(); err != nil {
		return done, err
	}
	digest, err := sumOf(part, 0, part.Size())
	if err != nil {
		return done, err
	}
	put, err := b.client.PutObjectPart(ctx, b.Bucket, key, upload, n, unseekable(io.NewSectionReader(part, 0, part.Size()), part.Size()), part.Size(), minio.PutObjectPartOptions{Sha256Hex: digest, DisableContentSha256: true})
	if err != nil {
		return done, b.explain("put part "+strconv.Itoa(n)+" of "+key, err)
	}
	return minio.CompletePart{PartNumber: n, ETag: put.ETag}, b.took(digest, put.ChecksumSHA256)
}

// abortMost bounds an upload's abort; gc retries.
const abortMost = 10 * time.Second

func (b *Bucket) abort(ctx context.Context, key, upload string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortMost)
	defer cancel()
	return b.client.AbortMultipartUpload(ctx, b.Bucket, key, upload)
}

func sumOf(r io.ReaderAt, from, size int64) (string, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, io.NewSectionReader(r, from, size))
	return hex.EncodeToString(sum.Sum(nil)), err
}

// read reads a small own object.
func (b *Bucket) read(ctx context.Context, name string) ([]byte, error) {
	body, _, _, err := b.client.GetObject(ctx, b.Bucket, b.key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, b.explain(name, err)
	}
	defer body.Close()
	content, err := bounded.ReadAll(body, smallMost)
	return content, b.explained(name, err)
}

// smallMost bounds reads into memory, in bytes.
const smallMost = 1 << 20

// write writes a small own object.
func (b *Bucket) write(ctx context.Context, name string, content []byte, options minio.PutObjectOptions) error {
	sum := sha256.Sum256(content)
	return retry(ctx, func() error {
		_, err := b.client.PutObject(ctx, b.Bucket, b.key(name), unseekable(bytes.NewReader(content), int64(len(content))), int64(len(content)), "", hex.EncodeToString(sum[:]), wholeBody(options))
		return b.explained("write "+name, err)
	})
}
