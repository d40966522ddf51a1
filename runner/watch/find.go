package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/suggest"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// Find finds a run by what a person types: an id, its unique prefix, ID@ATTEMPT or @last. If there is none, or more than
// one, the error wraps catalog.ErrNotFound or catalog.ErrAmbiguous.
func Find(ctx context.Context, host *phase.Host, name string) (catalog.Run, error) {
	run, err := host.Catalog.Find(ctx, name)
	if err != nil {
		return run, cmp.Or(noAttempt(ctx, host.Catalog, name, err), nearID(ctx, host.Catalog, name, err), notFound(name, err))
	}
	return run, nil
}

// FindWhole is Find for a command that changes a run or makes another attempt of it. It refuses a prefix.
func FindWhole(ctx context.Context, host *phase.Host, name string) (catalog.Run, error) {
	run, err := host.Catalog.Find(ctx, name)
	if err != nil {
		return run, cmp.Or(noAttempt(ctx, host.Catalog, name, err), nearID(ctx, host.Catalog, name, err), NotFoundWhole(name, err))
	}
	return run, WholeID(name, run)
}

// noRun says that a name finds no run, in words for a person. Its cause is the catalog's error.
type noRun struct {
	words string
	cause error
}

func (e *noRun) Error() string { return e.words }
func (e *noRun) Unwrap() error { return e.cause }

func noRunf(cause error, format string, args ...any) error {
	return &noRun{fmt.Sprintf(format, args...), cause}
}

// NotFoundWhole is the error of a name for a command that refuses a prefix.
func NotFoundWhole(name string, err error) error {
	if errors.Is(err, catalog.ErrAmbiguous) {
		return noRunf(err, "%q is the beginning of several ids; type all of the id here, \"scidex-oci ls\" has it", name)
	}
	return notFound(name, err)
}

// WholeID refuses a name that is only the beginning of the id of the run it found: a typing error may begin an id as well.
func WholeID(name string, found catalog.Run) error {
	typed, err := catalog.ParseName(name)
	if err != nil || typed.Last || typed.ID == found.ID {
		return err
	}
	typed.ID = found.ID
	return fmt.Errorf("%q is only the beginning of an id; type all of it here: %s", name, typed)
}

// notFound is the error of a name for which the catalog found no run.
func notFound(name string, err error) error {
	switch {
	case errors.Is(err, catalog.ErrNotFound) && strings.HasPrefix(name, "@"):
		return &noRun{noSuchAt(name), err}
	case errors.Is(err, catalog.ErrNotFound):
		return noRunf(err, "no run %q in this catalog; see \"scidex-oci ls\"", name)
	case errors.Is(err, catalog.ErrAmbiguous):
		return noRunf(err, "%q is the beginning of several ids; type more of it", name)
	}
	return fmt.Errorf("find %q: %w", name, err)
}

// noAttempt is the error of ID@ATTEMPT if the catalog has other attempts of the id, else nil.
func noAttempt(ctx context.Context, of catalog.Catalog, name string, err error) error {
	if !errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	id, attempt, found := strings.Cut(name, "@")
	if !found || id == "" {
		return nil
	}
	last, errOfID := of.Find(ctx, id)
	if errOfID != nil {
		return nil //nolint:nilerr // it has no run of the id either
	}
	const most = 20
	runs, errOfList := of.List(ctx, catalog.Filter{ID: last.ID, Limit: most})
	if errOfList != nil {
		return errOfList
	}
	slices.Reverse(runs)
	var attempts []string
	for _, run := range runs {
		attempts = append(attempts, strconv.Itoa(run.Attempt))
	}
	word := "attempt"
	if len(attempts) > 1 {
		word = "attempts"
	}
	// The Python client knows a run that is not there by how the sentence begins.
	return noRunf(err, "no run %q: the catalog has %s %s of it; type %s for the last", last.ID+"@"+attempt, word, strings.Join(attempts, ", "), last.ID)
}

// nearID is the error of a mistyped id, nil if no run of the newest has a similar one.
func nearID(ctx context.Context, of catalog.Catalog, name string, err error) error {
	id, _, _ := strings.Cut(name, "@")
	if !errors.Is(err, catalog.ErrNotFound) || id == "" {
		return nil
	}
	const newest = 200
	runs, errOfList := of.List(ctx, catalog.Filter{Limit: newest})
	if errOfList != nil {
		return errOfList
	}
	var ids []string
	for _, run := range runs {
		if run.ID != id { // its row was written since
			ids = append(ids, run.ID)
		}
	}
	if meant := suggest.ID(id, ids); meant != "" {
		return noRunf(err, "no run %q in this catalog%s", name, meant)
	}
	return nil
}

// noSuchAt says what is wrong with a name that begins with "@" and is not that of a run.
func noSuchAt(name string) string {
	const last = "@last"
	if attempt, found := strings.CutPrefix(name, last+"@"); found {
		return fmt.Sprintf("no run %q: %s takes no attempt; type ID@%s", name, last, attempt)
	}
	if name == last {
		return "this catalog has no run yet"
	}
	meant := suggest.DidYouMean(name, []string{last}, "")
	if meant == "" {
		meant = "; " + last + " is the newest"
	}
	return fmt.Sprintf("no run %q in this catalog%s", name, meant)
}
