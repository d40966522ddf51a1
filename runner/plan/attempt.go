package plan

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// nextAttempt returns the key of the next execution of an id; an empty id gets a new one.
func nextAttempt(ctx context.Context, host *phase.Host, id string, req request.Request) (catalog.Key, error) {
	if id == "" {
		id, err := newID()
		return catalog.Key{ID: id, Attempt: 1}, err
	}
	last, err := host.Catalog.Get(ctx, catalog.Key{ID: id})
	switch {
	case errors.Is(err, catalog.ErrNotFound) && req.Again:
		return catalog.Key{}, fmt.Errorf("--again %s: the catalog has no run of that id", id)
	case errors.Is(err, catalog.ErrNotFound):
		return catalog.Key{ID: id, Attempt: 1}, nil
	case err != nil:
		return catalog.Key{}, &request.CatalogError{Err: fmt.Errorf("look up %s: %w", id, err)}
	case !last.State.Final() && pending.Exists(host, last.Key):
		return catalog.Key{}, fmt.Errorf("id %s is in use: the result of attempt %d waits in %q to be committed; see \"scidex-oci gc\"", id, last.Attempt, pending.Path(host, last.Key))
	case last.State == outcome.Queued:
		return catalog.Key{}, fmt.Errorf("id %s is in use: attempt %d waits in the queue; choose another id, or cancel it with \"scidex-oci queue cancel %s\"", id, last.Attempt, id)
	case !last.State.Final():
		return catalog.Key{}, &request.BusyError{ID: id, Err: fmt.Errorf("id %s is in use: attempt %d is %s; stop it, or run gc if it was killed", id, last.Attempt, last.State)}
	case !req.Again && !req.Rerun && (last.State == outcome.Complete || last.State == outcome.Failed):
		return catalog.Key{}, &request.UsedError{ID: id, State: last.State}
	default:
		return catalog.Key{ID: id, Attempt: last.Attempt + 1}, nil
	}
}

func newID() (string, error) {
	var random [4]byte
	_, err := rand.Read(random[:])
	return spec.NewID(time.Now(), random), err
}

// scriptSource returns the script's file. A repeated run uses its kept script, unless another one is named or the script is part of
// a project. A warning says if the named file has changed since.
func scriptSource(ctx context.Context, host *phase.Host, a spec.Analysis, req request.Request, key catalog.Key) (path string, warnings []string, err error) {
	model := req.Model(key)
	if model.ID == "" || a.Script == "" || a.Project != "" || req.AnyScript {
		return a.Script, nil, nil
	}
	last, err := host.Catalog.Get(ctx, model)
	if err != nil {
		return "", nil, err
	}
	res, err := result.New(last)
	if err != nil {
		return "", nil, err
	}
	var before spec.Analysis
	if err := json.Unmarshal(last.Request, &before); err != nil {
		return "", nil, fmt.Errorf("read the recorded request: %w", err)
	}
	if res.Script == nil || res.Script.SHA256 == "" || before.Script != a.Script {
		return a.Script, nil, nil
	}
	if same, err := sameScript(last, a.Script); req.Again && !same && err == nil {
		warnings = []string{fmt.Sprintf("the script was run as it is recorded with attempt %d, and %s has changed since; \"%s\" runs it as it is now",
			model.Attempt, a.Script, againNow(a))}
	}
	path, err = Fetch(ctx, host, res.Script.SHA256)
	return path, warnings, err
}

// againNow is the command that runs a further attempt of a script's file as it is now.
func againNow(a spec.Analysis) string {
	words := []string{"--again", a.ID, "--script", a.Script}
	if len(a.Args) > 0 {
		words = append(append(words, "--"), a.Args...)
	}
	return "scidex-oci run " + format.ShellLine(words...)
}

// fetchInput is Fetch of a blob input.
func fetchInput(ctx context.Context, host *phase.Host, in spec.Input) (string, error) {
	if err := inStore(host, in); err != nil {
		return "", err
	}
	sha256, _ := in.Digest()
	return Fetch(ctx, host, sha256)
}

// inStore refuses a blob named by the URL of another store. Nothing else is fetched for an analysis: only the operator
// decides, by --blobs, what a URL may name and with whose credentials.
func inStore(host *phase.Host, in spec.Input) error {
	if store := in.Store(); store != "" && store != host.Blobs.URL() {
		return fmt.Errorf("it does not lie in the blob store %s; give --blobs for another one, or fetch the blob and give the file", host.Blobs.URL())
	}
	return nil
}

// Fetch returns the path of a file that holds a verified blob.
func Fetch(ctx context.Context, host *phase.Host, sha256 string) (string, error) {
	f, err := host.Blobs.Fetch(ctx, sha256)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no blob sha256:%s in the blob store %s; \"scidex-oci outputs find\" lists outputs with their digests", sha256, host.Blobs)
	}
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// checkDirectory refuses an id whose directory exists, unless it was kept by the attempt before.
func checkDirectory(ctx context.Context, host *phase.Host, key catalog.Key) error {
	if err := first(
		func() error { return recordable("--root", host.Root) },
		func() error { return recordable("--tmp", host.Tmp) },
		func() error { return checkTmp(host.Tmp) },
	); err != nil {
		return err
	}
	path := workspace.RunDir(host.Tmp, key.ID)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("look whether the working directory exists already: %w", err)
	}
	if kept, err := workspace.KeptBefore(ctx, host, key); err != nil || kept {
		return err
	}
	if _, err := host.Catalog.Get(ctx, key); err == nil { // since its attempt was chosen
		return request.Taken(key.ID)
	}
	return fmt.Errorf("%s exists already and was not made for this run; choose another --id, or remove it", path)
}

// recordable refuses a path that the records of a run, which are JSON, cannot hold: stop and gc would not find it.
func recordable(flag, path string) error {
	if utf8.ValidString(path) {
		return nil
	}
	return fmt.Errorf("%s %q is not UTF-8, so it cannot be recorded: rename or recode it, or give another directory", flag, path)
}

// checkTmp refuses an unsuitable location for working directories.
func checkTmp(tmp string) error {
	info, err := os.Stat(tmp)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--tmp %q does not exist; make it, or give another directory", tmp)
	case errors.Is(err, unix.ENOTDIR), err == nil && !info.IsDir():
		return fmt.Errorf("--tmp %q is not a directory; give one", tmp)
	case err != nil:
		return fmt.Errorf("--tmp %q: %w; give another directory", tmp, inode.Plain(err))
	}
	if err := writable(tmp); errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) { // another error may pass: what makes the directory says it
		return fmt.Errorf("--tmp %q cannot be written: %w; give another directory", tmp, userdir.Plain(err))
	}
	return nil
}

// writable returns an error if no directory can be made in a directory.
func writable(path string) (err error) {
	d, err := userdir.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Writable(), d.Close())
}
