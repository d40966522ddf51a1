package request

import (
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// UsedError says that an id has already ended, and was not to be repeated.
type UsedError struct {
	ID    string
	State outcome.State
}

func (e *UsedError) Error() string {
	return fmt.Sprintf("id %s was used before and is %s; choose another id, or repeat it with \"scidex-oci run --again %s\"", e.ID, e.State, e.ID)
}

// BusyError says that another process runs the id now.
type BusyError struct {
	ID  string
	Err error
}

func (e *BusyError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *BusyError) Unwrap() error { return e.Err }

// Taken says that another process took the id since it was looked up.
func Taken(id string) error {
	return &Error{&BusyError{ID: id, Err: fmt.Errorf("id %s was taken by another run at the same moment; choose another", id)}}
}

// HostError is a refusal caused by the host or the account, not by the request: `scidex-oci doctor` tells more.
type HostError struct{ Err error }

func (e *HostError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *HostError) Unwrap() error { return e.Err }

// Refusal is an Error, except for a catalog that failed.
func Refusal(err error) error {
	var unusable *CatalogError
	if errors.As(err, &unusable) {
		return err
	}
	return &Error{err}
}

// StoppedError is a stop request before the analysis started.
type StoppedError struct{ Signal StopSignal }

func (e *StoppedError) Error() string {
	return fmt.Sprintf("stopped by %s before anything was run", e.Signal.Name)
}

// CatalogError is why a run was not started: its catalog or blob store, needed for its commit, cannot be used.
type CatalogError struct{ Err error }

func (e *CatalogError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *CatalogError) Unwrap() error { return e.Err }

// Error is a request that was refused before anything was created. Its message is one sentence with the value and the
// remedy.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
