package request

import (
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// UsedError says that an id has an end already, and was not to be repeated.
type UsedError struct {
	ID    string
	State catalog.State
}

func (e *UsedError) Error() string {
	return fmt.Sprintf("id %s was used before and is %s; choose another id, or repeat it with --again %s", e.ID, e.State, e.ID)
}

// HostError is a refusal that is the host's or the account's doing and not the request's: `scidex-oci doctor`
// tells more.
type HostError struct{ Err error }

func (e *HostError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *HostError) Unwrap() error { return e.Err }

// Refusal is a RequestError, but for a catalog that could not be asked.
func Refusal(err error) error {
	var unusable *CatalogError
	if errors.As(err, &unusable) {
		return err
	}
	return &Error{err}
}

// StoppedError is a wish to stop that came before the analysis began.
type StoppedError struct{ Signal StopSignal }

func (e *StoppedError) Error() string {
	return fmt.Sprintf("stopped by %s before anything was run", e.Signal.Name)
}

// CatalogError is why a run was not begun: its catalog or blob store, to which it would be committed, cannot be used.
type CatalogError struct{ Err error }

func (e *CatalogError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *CatalogError) Unwrap() error { return e.Err }

// Error is a request that was refused before anything was created. Its message is one sentence
// with the value and the way out.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
