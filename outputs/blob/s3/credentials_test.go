package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/blob/blobtest"
)

// givingCredentials is a service as that of a container (AWS_CONTAINER_CREDENTIALS_FULL_URI).
func givingCredentials(t *testing.T, answer http.HandlerFunc) {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", s.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
}

func TestCredentialsByAService(t *testing.T) {
	givingCredentials(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"Code": "Success", "AccessKeyId": %q, "SecretAccessKey": %q, "Expiration": %q}`,
			theServer.AccessKey, theServer.SecretKey, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	})
	blobtest.Must(t, keep(t, open(t, "s3://"+newBucket(t)), "content"))
}

// TestServiceGivesNone: the error names the service's variable, and not the server of the bucket.
func TestServiceGivesNone(t *testing.T) {
	givingCredentials(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	err := keep(t, open(t, "s3://"+newBucket(t)), "content")
	if err == nil || !strings.Contains(err.Error(), "the service that AWS_CONTAINER_CREDENTIALS_FULL_URI names gave no credentials") {
		t.Errorf("%v", err)
	}
}

// TestServiceHangs: the wait for credentials ends with the request that needs them.
func TestServiceHangs(t *testing.T) {
	asked, end := make(chan struct{}, 100), make(chan struct{})
	givingCredentials(t, func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-end
	})
	t.Cleanup(func() { close(end) })
	b := openBucket(t, "s3://"+newBucket(t))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := b.CatalogID(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
