package stores

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
