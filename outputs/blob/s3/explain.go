package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"syscall"

	"github.com/minio/minio-go/v7"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
)

// failure explains a failed request in a sentence. It wraps the cause and its meaning: fs.ErrNotExist for a missing object,
// blob.ErrTransient for a transient error.
type failure struct {
	text  string
	cause error
	means error
}

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return []error{f.cause, f.means} }

// explain returns the meaning of an error of a request.
func (b *Bucket) explain(about string, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("blob store %s: %s: %w", b, about, err)
	}
	var given *serviceError
	if errors.As(err, &given) {
		return &failure{fmt.Sprintf("blob store %s: %s: %v", b, about, given), err, blob.ErrTransient}
	}
	var answer minio.ErrorResponse
	if !errors.As(err, &answer) || answer.StatusCode == 0 && answer.Code == "" {
		return b.unreachable(about, err)
	}
	if why := b.wantsTLS(answer); why != "" {
		return &failure{fmt.Sprintf("blob store %s: %s: %s", b, about, why), err, nil}
	}
	what, means := meaning(answer)
	if errors.Is(means, fs.ErrNotExist) {
		return &failure{fmt.Sprintf("%s is not in the blob store %s", about, b), err, means}
	}
	return &failure{fmt.Sprintf("blob store %s: %s: %s", b, about, what(b, answer)), err, means}
}

// explained is explain for an err that may be nil.
func (b *Bucket) explained(about string, err error) error {
	if err == nil {
		return nil
	}
	return b.explain(about, err)
}

// unreachable is for a lack of answer. The text of a network error names hosts and ports, and no secrets.
func (b *Bucket) unreachable(about string, err error) error {
	if why := insecure(b.client.EndpointURL().Host, err); why != "" {
		return &failure{fmt.Sprintf("blob store %s: %s: %s", b, about, why), err, nil}
	}
	var network net.Error
	if errors.As(err, &network) || ended(err) || errors.Is(err, context.DeadlineExceeded) {
		return &failure{fmt.Sprintf("blob store %s: %s: %s did not answer as it should: %v", b, about, b.client.EndpointURL().Host, plain(err)), err, blob.ErrTransient}
	}
	return fmt.Errorf("blob store %s: %s: %w", b, about, err)
}

// errEnded replaces the many errors by which net/http reports that the other side has closed a connection.
var errEnded = errors.New("it ended the connection")

func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// plain omits the URL of a request, which is signed if the object has its own policy.
func plain(err error) error {
	if ended(err) {
		return errEnded
	}
	for {
		inner := errors.Unwrap(err)
		var network *net.OpError
		if inner == nil || errors.As(err, &network) {
			if network != nil {
				return network
			}
			return err
		}
		err = inner
	}
}

type wording func(b *Bucket, answer minio.ErrorResponse) string

func says(format string) wording {
	return func(b *Bucket, answer minio.ErrorResponse) string {
		return fmt.Sprintf(format, b.Bucket) + fmt.Sprintf(" (%s, HTTP %d)", answer.Code, answer.StatusCode)
	}
}

// meaning returns an answer's sentence and error.
func meaning(answer minio.ErrorResponse) (wording, error) {
	switch answer.Code {
	case minio.NoSuchKey:
		return nil, fs.ErrNotExist
	case minio.NoSuchBucket:
		return says("there is no bucket %q here; make it, or correct --blobs, the endpoint or the region"), nil
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "ExpiredTokenException", "InvalidSecurity", "XAdminUserNotFound":
		return says("the server does not accept the credentials for bucket %q; see AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_PROFILE"), nil
	case "RequestTimeTooSkewed":
		return says("the clock of this host is too far from that of the server of bucket %q; set it"), nil
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "InvalidRegion":
		return says("bucket %q is in another region; set AWS_REGION, or give ?region=NAME"), nil
	case "QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "EntityTooLarge":
		return says("bucket %q takes no more; make room in it"), nil
	}
	switch answer.StatusCode {
	case http.StatusForbidden, http.StatusUnauthorized:
		return says("these credentials may not do that in bucket %q; grant s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload, s3:ListBucket and s3:ListBucketMultipartUploads (docs/s3.md)"), nil
	case http.StatusInsufficientStorage:
		return says("bucket %q takes no more; make room in it"), nil
	}
	if answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= http.StatusInternalServerError {
		return says("the server of bucket %q is not ready"), blob.ErrTransient
	}
	if answer.StatusCode == http.StatusConflict { // such as OperationAborted; versitygw's ExistingObjectIsDirectory during a removal
		return says("another request is changing the same name in bucket %q"), blob.ErrTransient
	}
	if answer.Code == "XAmzContentSHA256Mismatch" || answer.Code == "BadDigest" {
		return says("what arrived for bucket %q is not what was sent"), blob.ErrTransient
	}
	return func(_ *Bucket, answer minio.ErrorResponse) string {
		return fmt.Sprintf("%s (%s, HTTP %d)", answer.Message, answer.Code, answer.StatusCode)
	}, nil
}
