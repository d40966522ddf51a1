package batch

// Short analyses take as long to prepare as to run. So the next ones are prepared, up to their first instruction, while
// earlier ones run. What is prepared when a batch drains has a row in the catalog and is canceled: so nothing is prepared
// ahead for analyses that would wait for long. Where processors and memory are idle, that is a minute: a
// script has its modules imported while it waits (docs/adr/0055).

// ahead is how many lines may be made ready while others run.
func (d *dispatch) ahead() int {
	switch {
	case !d.Overlap:
		return 0
	case d.short.Lasts():
		return d.jobs
	case d.brief.Lasts():
		return min(d.Idle, d.jobs)
	default:
		return 0
	}
}
