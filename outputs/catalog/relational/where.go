package relational

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// Where collects conditions on a row, as SQL and its arguments.
type Where struct {
	// Moment is a time as stored.
	Moment func(time.Time) any
	// Holds reports whether the database can store a string. No stored value equals one that it cannot.
	Holds func(string) bool
	// Contains is the term for a run whose id or command contains a text. Both its %s stand for that text.
	Contains string

	// Args are the arguments, in the order of their parameters.
	Args  []any
	terms []string
}

// Bind adds an argument and returns its parameter.
func (w *Where) Bind(arg any) string {
	w.Args = append(w.Args, arg)
	return "$" + strconv.Itoa(len(w.Args))
}

// Add adds a term; each %s of it is one of args.
func (w *Where) Add(term string, args ...any) {
	for _, arg := range args { // before any is bound: a query has no argument that it does not use
		if s, ok := arg.(string); ok && !w.Holds(s) {
			w.terms = append(w.terms, "1 = 0")
			return
		}
	}
	parameters := make([]any, len(args))
	for i, arg := range args {
		parameters[i] = w.Bind(arg)
	}
	w.terms = append(w.terms, fmt.Sprintf(term, parameters...))
}

// The conditions of the indexes of runs that have not ended, of those that have, for their use, and of those that ended
// other than complete, verbatim: a database that sees only parameters could not know that an index has all that the
// query needs.
const (
	open       = `state IN ('queued', 'running')`
	HasEnded   = `state IN ('complete', 'failed', 'canceled', 'error', 'lost')`
	incomplete = `state IN ('failed', 'canceled', 'error', 'lost')`
)

// Runs adds the filter's conditions on the columns of a run. Labels have a separate table and are not included.
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
		w.Add(w.Contains, filter.Text, filter.Text)
	}
	if after := filter.After; !after.CreatedAt.IsZero() {
		w.Add(`(created_at, id, attempt) < (%s, %s, %s)`, w.Moment(after.CreatedAt), after.ID, after.Attempt)
	}
	w.States(filter.States)
	if len(filter.States) > 0 && !slices.ContainsFunc(filter.States, outcome.State.Final) {
		w.Add(open)
	}
	if ofState(filter) {
		w.Add(incomplete)
	}
	in(w, `reason`, filter.Reasons)
}

// States adds that a run is in one of the states, if there are any.
func (w *Where) States(states []outcome.State) { in(w, `state`, states) }

// ofState reports whether the index by state has what filter selects in listing order: the runs of several states must
// be sorted, and an id or a label finds fewer.
func ofState(filter catalog.Filter) bool {
	if len(filter.States) != 1 || filter.ID != "" || len(filter.Labels) > 0 {
		return false
	}
	state := filter.States[0]
	return state.Final() && state != outcome.Complete
}

// in adds that a column has one of the values, if there are any.
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

// String is the clause, empty if every row satisfies it.
func (w *Where) String() string {
	if len(w.terms) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(w.terms, ` AND `)
}
