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

// Find finds a run by what a person types: an id, its unique prefix, ID@ATTEMPT or @last.
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

// NotFoundWhole is the error of a name for a command that refuses a prefix.
func NotFoundWhole(name string, err error) error {
	if errors.Is(err, catalog.ErrAmbiguous) {
		return fmt.Errorf("%q is the beginning of several ids; type all of the id here, \"scidex-oci ls\" has it", name)
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
		return noSuchAt(name)
	case errors.Is(err, catalog.ErrNotFound):
		return fmt.Errorf("no run %q in this catalog; see \"scidex-oci ls\"", name)
	case errors.Is(err, catalog.ErrAmbiguous):
		return fmt.Errorf("%q is the beginning of several ids; type more of it", name)
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
	last, err := of.Find(ctx, id)
	if err != nil {
		return nil //nolint:nilerr // it has no run of the id either
	}
	const most = 20
	runs, err := of.List(ctx, catalog.Filter{ID: last.ID, Limit: most})
	if err != nil {
		return err
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
	return fmt.Errorf("no run %q: the catalog has %s %s of it; type %s for the last", last.ID+"@"+attempt, word, strings.Join(attempts, ", "), last.ID)
}

// nearID is the error of a mistyped id, nil if no run of the newest has a similar one.
func nearID(ctx context.Context, of catalog.Catalog, name string, err error) error {
	id, _, _ := strings.Cut(name, "@")
	if !errors.Is(err, catalog.ErrNotFound) || id == "" {
		return nil
	}
	const newest = 200
	runs, err := of.List(ctx, catalog.Filter{Limit: newest})
	if err != nil {
		return err
	}
	var ids []string
	for _, run := range runs {
		ids = append(ids, run.ID)
	}
	if meant := suggest.ID(id, ids); meant != "" {
		return fmt.Errorf("no run %q in this catalog%s", name, meant)
	}
	return nil
}

// noSuchAt is the error of a name that begins with "@" and is not that of a run.
func noSuchAt(name string) error {
	const last = "@last"
	if attempt, found := strings.CutPrefix(name, last+"@"); found {
		return fmt.Errorf("no run %q: %s takes no attempt; type ID@%s", name, last, attempt)
	}
	if name == last {
		return errors.New("this catalog has no run yet")
	}
	meant := suggest.DidYouMean(name, []string{last}, "")
	if meant == "" {
		meant = "; " + last + " is the newest"
	}
	return fmt.Errorf("no run %q in this catalog%s", name, meant)
}
