package stores

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/suggest"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// noAttempt is the error of ID@ATTEMPT where the catalog has other attempts of the id, else nil.
func (st *Stores) noAttempt(ctx context.Context, name string, err error) error {
	if !errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	id, attempt, found := strings.Cut(name, "@")
	if !found || id == "" {
		return nil
	}
	last, err := st.Catalog.Find(ctx, id)
	if err != nil {
		return nil //nolint:nilerr // it has no run of the id either
	}
	const most = 20
	runs, err := st.Catalog.List(ctx, catalog.Filter{ID: last.ID, Limit: most})
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

// nearID is the error of a mistyped id, nil where no run of the newest has a similar one.
func (st *Stores) nearID(ctx context.Context, name string, err error) error {
	id, _, _ := strings.Cut(name, "@")
	if !errors.Is(err, catalog.ErrNotFound) || id == "" {
		return nil
	}
	const newest = 200
	runs, err := st.Catalog.List(ctx, catalog.Filter{Limit: newest})
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
