package ui

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// stopTimeout is how long the answer to a stop request waits for the end of the run.
const stopTimeout = 8 * time.Second

// formRun returns a form's run, by its full name.
func formRun(r *http.Request) (key catalog.Key, err error) {
	r.Body = http.MaxBytesReader(nil, r.Body, formMax)
	if err := r.ParseForm(); err != nil {
		return key, refuse(http.StatusBadRequest, "The form cannot be read: "+err.Error()+".")
	}
	if err := eachOnce(r.PostForm, []string{"id", "proof"}); err != nil {
		return key, err
	}
	name, err := catalog.ParseName(r.PostForm.Get("id"))
	if err != nil || name.Attempt == 0 {
		return key, refuse(http.StatusBadRequest, "The form names no attempt of a run.")
	}
	return catalog.Key{ID: name.ID, Attempt: name.Attempt}, nil
}

// stop ends a run as `scidex-oci stop` does; shows it.
func (s *Server) stop(w http.ResponseWriter, r *http.Request) error {
	key, err := formRun(r)
	if err != nil {
		return err
	}
	run, err := s.stores.Runs.Find(r.Context(), key.String())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), stopTimeout)
	defer cancel()
	if err := s.stores.Life.Stop(ctx, run); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return refuse(http.StatusConflict, "It was not stopped: "+err.Error()+".")
	}
	http.Redirect(w, r, s.key.root()+linkTo(key), http.StatusSeeOther)
	return nil
}
