package options

import (
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// Filter are the options that choose runs of the catalog.
type Filter struct {
	since, until    Moment
	states, reasons []string
	labels          map[string]string
	text            string
	limit           int // 0 for none
}

// TextFlag is the flag of a search, for commands that list runs.
func (o *Filter) TextFlag() *Flag {
	return String(&o.text, "text", "whose id, script or command line contains `TEXT`, as it is spelled")
}

// Flags are the flags of a filter; limit says what --limit bounds, and most is its default.
func (o *Filter) Flags(limit string, most int) []*Flag {
	o.limit = most
	return []*Flag{
		Time(&o.since, "since", "created at or after `TIME`: RFC 3339, a date, or how long ago, as 7d or 12h"),
		Time(&o.until, "until", "created before `TIME`"),
		Words(&o.states, "state", "in this `STATE`; repeatable", States()),
		Words(&o.reasons, "reason", "ended for this `REASON`; repeatable", Reasons()),
		Pairs(&o.labels, "label", "with this label `K=V`; repeatable, all must match"),
		Number(&o.limit, "limit", limit, 0, "a number of runs, 0 for all", "n"),
	}
}

// Chooses reports whether some runs may be left out for what they are.
func (o *Filter) Chooses() bool {
	return o.since.text.Given || o.until.text.Given || len(o.states)+len(o.reasons)+len(o.labels) > 0 || o.text != ""
}

// ChoosesEnd reports whether states or reasons were given.
func (o *Filter) ChoosesEnd() bool { return len(o.states)+len(o.reasons) > 0 }

// At is the filter of the catalog, with durations before now.
func (o *Filter) At(now time.Time) (f catalog.Filter, err error) {
	f = catalog.Filter{Limit: o.limit, Labels: o.labels, Text: o.text}
	for _, state := range o.states {
		f.States = append(f.States, outcome.State(state))
	}
	for _, reason := range o.reasons {
		f.Reasons = append(f.Reasons, outcome.Reason(reason))
	}
	if f.Since, err = o.since.At(now); err != nil {
		return f, err
	}
	f.Until, err = o.until.At(now)
	return f, err
}

// States are the words for the states of a run.
func States() []string {
	var all []string
	for _, state := range []outcome.State{
		outcome.Queued, outcome.Running, outcome.Complete, outcome.Failed, outcome.Canceled, outcome.Error, outcome.Lost,
	} {
		all = append(all, string(state))
	}
	return all
}

// Reasons are the words for why a run has ended.
func Reasons() []string {
	var all []string
	for _, reason := range outcome.Reasons() {
		all = append(all, string(reason))
	}
	return all
}
