package execute

import (
	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/runner/execute/streams"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// stdinError says why the standard input could not be passed on to its end.
type stdinError struct{ error }

func (e *stdinError) Unwrap() error { return e.error }

// openStdin prepares what is passed on as standard input; nil if that is empty.
func openStdin(req request.Request, ingest *cas.Ingest) (*streams.Feed, error) {
	if req.Stdin == nil {
		return nil, nil // there is none, which is no error
	}
	return streams.NewFeed(ingest, req.Stdin)
}

// feed starts to pass a standard input on. Its failure ends the analysis, which would take it for the end of the input.
func feed(stdin *streams.Feed, space *workspace.Workspace, ended <-chan struct{}) (fed <-chan error) {
	result := make(chan error, 1)
	if stdin == nil {
		close(result)
		return result
	}
	go func() {
		err := stdin.Run(ended)
		if err != nil {
			err = &stdinError{err}
			space.Kill()
		}
		result <- err
	}()
	return result
}

// endStdin ends the standard input of an analysis whose processes are all dead; failed is what its feed returned.
func endStdin(stdin *streams.Feed, space *workspace.Workspace, failed error) error {
	if stdin == nil || failed != nil {
		return failed
	}
	space.Warn(stdin.ReturnUnread())
	return nil
}
