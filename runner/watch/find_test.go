package watch

import (
	"context"
	"errors"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

func TestWholeID(t *testing.T) {
	found := catalog.Run{Key: catalog.Key{ID: "fit-1", Attempt: 2}}
	for name, want := range map[string]string{
		"fit-1":   "",
		"fit-1@2": "",
		"@last":   "",
		"fit":     `"fit" is only the beginning of an id; type all of it here: fit-1`,
		"fit-@2":  `"fit-@2" is only the beginning of an id; type all of it here: fit-1@2`,
	} {
		got := ""
		if err := WholeID(name, found); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestNotFoundWhole(t *testing.T) {
	got := NotFoundWhole("2026", catalog.ErrAmbiguous).Error()
	if want := `"2026" is the beginning of several ids; type all of the id here, "scidex-oci ls" has it`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestNoSuchAt(t *testing.T) {
	for name, want := range map[string]string{
		"@last":   `this catalog has no run yet`,
		"@lats":   `no run "@lats" in this catalog; did you mean "@last"?`,
		"@first":  `no run "@first" in this catalog; @last is the newest`,
		"@last@7": `no run "@last@7": @last takes no attempt; type ID@7`,
	} {
		if got := notFound(name, catalog.ErrNotFound).Error(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// late is a catalog that gets the row of a run between two looks.
type late struct {
	catalog.Catalog
	run catalog.Run
}

func (late) Find(context.Context, string) (catalog.Run, error) {
	return catalog.Run{}, catalog.ErrNotFound
}

func (l late) List(context.Context, catalog.Filter) ([]catalog.Run, error) {
	return []catalog.Run{l.run}, nil
}

func TestFindBeforeTheRow(t *testing.T) {
	host := &phase.Host{Catalog: late{run: catalog.Run{Key: catalog.Key{ID: "fit-1", Attempt: 1}}}}
	for name, want := range map[string]string{
		"fit-1": `no run "fit-1" in this catalog; see "scidex-oci ls"`,
		"fit-2": `no run "fit-2" in this catalog; did you mean "fit-1"?`,
	} {
		for what, find := range map[string]func(context.Context, *phase.Host, string) (catalog.Run, error){"Find": Find, "FindWhole": FindWhole} {
			if _, err := find(t.Context(), host, name); !errors.Is(err, catalog.ErrNotFound) || err.Error() != want {
				t.Errorf("%s: %v, want %s", what, err, want)
			}
		}
	}
}
