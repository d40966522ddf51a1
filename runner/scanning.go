package runner

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/inputs/scan"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/testhole"
)

// scanInputs looks through everything that a run binds. Where that takes long, the first wish to stop ends it.
func scanInputs(ctx context.Context, host *phase.Host, p *plan, req Request) error {
	defer trace.From(ctx).Span(trace.Run, "look through the inputs")()
	ctx, release := untilStop(ctx, req.Stop, scan.TellAfter)
	s := scan.Scanner{Dir: filepath.Join(host.Root, "scans"), Reader: p.reader(), Log: host.Log}
	err := p.inputs.scan(ctx, s, req.Scanning)
	return cmp.Or(release(), err)
}

// scan looks for sockets and the like in all directories that are bound.
func (s *inputSet) scan(ctx context.Context, by scan.Scanner, tell func(flag string, entries int64)) error {
	for i, in := range s.inputs {
		if !in.bind.Directory || shownTwice(in, s.inputs[:i]) {
			continue
		}
		var progress func(int64)
		if tell != nil {
			progress = func(entries int64) { tell(in.flag, entries) }
		}
		found, err := by.Scan(ctx, in.file, progress)
		if err != nil {
			return fmt.Errorf("%s: %w", in, err)
		}
		if found != nil && !testhole.Open {
			return fmt.Errorf("%s holds %s, %q, through which the analysis could reach out; remove it or bind another directory",
				in, inode.KindName(found.Kind), found.Path)
		}
	}
	return nil
}

// shownTwice reports whether one of those before is the same directory, at another place.
func shownTwice(in input, before []input) bool {
	return slices.ContainsFunc(before, func(other input) bool {
		return other.bind.Dev == in.bind.Dev && other.bind.Ino == in.bind.Ino
	})
}

// untilStop returns a context that the first wish to stop ends after a while. Of a scan that is over
// before, the run hears the wish, and ends as canceled. release returns why the context was ended.
func untilStop(ctx context.Context, stop <-chan StopSignal, after time.Duration) (_ context.Context, release func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-done:
			return
		case <-time.After(after):
		}
		select {
		case <-done:
		case signal := <-stop:
			cancel(&StoppedError{signal})
		}
	}()
	return ctx, func() error {
		close(done)
		<-ended
		defer cancel(nil)
		return context.Cause(ctx)
	}
}
