package worker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
)

// Workers of a root are directories below it, each locked by its worker and named after it, escaped because of slashes.
const (
	workersDir   = "workers"
	workerPrefix = "worker-"
)

// enroll gives the worker its name, and returns the jobs of killed workers of this root to the queue at once. Their runs are
// judged before (recovery.Recover), since one may have ended. done takes the name off.
func (w *Worker) enroll(ctx context.Context) (done func() error, err error) {
	dir := filepath.Join(w.Host.Root, workersDir)
	if w.Options.Name, err = newName(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if _, err := lockdir.Sweep(dir, workerPrefix, false, func(path string) error { return w.rescue(ctx, path) }); err != nil {
		return nil, fmt.Errorf("workers that were killed: %w", err)
	}
	path := filepath.Join(dir, workerPrefix+url.PathEscape(w.Options.Name))
	held, err := lockdir.Make(path)
	if err != nil {
		return nil, err
	}
	return func() error { return errors.Join(os.Remove(path), held.Close()) }, nil
}

// rescue requeues the jobs of a killed worker.
func (w *Worker) rescue(ctx context.Context, path string) error {
	name, err := url.PathUnescape(strings.TrimPrefix(filepath.Base(path), workerPrefix))
	if err != nil {
		return nil //nolint:nilerr // no worker's
	}
	n, err := w.Queue.Rescue(ctx, name)
	if n > 0 {
		w.Log.Warn("a worker of this root was killed; what it had is in the queue again", "worker", name, "analyses", n)
	}
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	return err
}

// newName returns a unique name that shows where a worker is.
func newName() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	var random [4]byte
	_, err = rand.Read(random[:])
	return fmt.Sprintf("%.60s/%d/%s", host, os.Getpid(), hex.EncodeToString(random[:])), err
}
