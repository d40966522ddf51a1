package row

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Where collects what a row must satisfy, as SQL and its arguments.
type Where struct {
	// Parameter is how the database spells the n-th parameter of a query, from 1.
	Parameter func(n int) string
	// Moment is a time as a column has it.
	Moment func(time.Time) any
	// Holds reports whether the database can hold a string. Nothing there is equal to one that it cannot.
	Holds func(string) bool
	// Contains is the term for an id that contains a text.
	Contains string

	// Args are the arguments, in the order of their parameters.
	Args  []any
	terms []string
}

// Bind adds an argument and returns its parameter.
func (w *Where) Bind(arg any) string {
	w.Args = append(w.Args, arg)
	return w.Parameter(len(w.Args))
}

// Add adds a term; each %s of it is one of args.
func (w *Where) Add(term string, args ...any) {
	parameters := make([]any, len(args))
	for i, arg := range args {
		if s, ok := arg.(string); ok && !w.Holds(s) {
			w.terms = append(w.terms, "1 = 0")
			return
		}
		parameters[i] = w.Bind(arg)
	}
	w.terms = append(w.terms, fmt.Sprintf(term, parameters...))
}

// The conditions of the indexes of runs that have not ended, and of those that ended other than complete, word for word: a
// database that sees only parameters could not tell that an index has all that is asked for.
const (
	open       = `state IN ('queued', 'running')`
	incomplete = `state IN ('failed', 'canceled', 'error', 'lost')`
)

// Runs adds what filter says of the columns of a run. Labels have a table of their own, and are not among them.
func (w *Where) Runs(filter catalog.Filter) {
	if !filter.Since.IsZero() {
		w.Add(`created_at >= %s`, w.Moment(filter.Since))
	}
	if !filter.Until.IsZero() {
		w.Add(`created_at < %s`, w.Moment(filter.Until))
	}
	if filter.Host != "" {
		w.Add(`host = %s`, filter.Host)
	}
	if filter.ID != "" {
		w.Add(`id = %s`, filter.ID)
	}
	if filter.Text != "" {
		w.Add(w.Contains, filter.Text)
	}
	if after := filter.After; !after.CreatedAt.IsZero() {
		w.Add(`(created_at, id, attempt) < (%s, %s, %s)`, w.Moment(after.CreatedAt), after.ID, after.Attempt)
	}
	in(w, `state`, filter.States)
	if len(filter.States) > 0 && !slices.ContainsFunc(filter.States, catalog.State.Final) {
		w.Add(open)
	}
	if ofState(filter) {
		w.Add(incomplete)
	}
	in(w, `reason`, filter.Reasons)
}

// ofState reports whether the index by state has what filter asks for in the order of a listing: of several states it would
// have to be sorted, and an id or a label finds fewer.
func ofState(filter catalog.Filter) bool {
	if len(filter.States) != 1 || filter.ID != "" || len(filter.Labels) > 0 {
		return false
	}
	state := filter.States[0]
	return state.Final() && state != catalog.Complete
}

// in adds that a column has one of some values, where there are any.
func in[T ~string](w *Where, column string, values []T) {
	if len(values) == 0 {
		return
	}
	var parameters []string
	for _, value := range values {
		if w.Holds(string(value)) {
			parameters = append(parameters, w.Bind(string(value)))
		}
	}
	if parameters == nil {
		w.Add(`1 = 0`)
		return
	}
	w.Add(column + ` IN (` + strings.Join(parameters, `, `) + `)`)
}

// String is the clause, empty where every row satisfies it.
func (w *Where) String() string {
	if len(w.terms) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(w.terms, ` AND `)
}
