// Package dispatch is what batch and engine, the packages that run many analyses in one process, have in common: a Line is one analysis to
// run, Runs makes a run of it, and an Executor runs lines side by side. All runs share one catalog, one blob store and one supervisor
// (warm.Pool). A caller need not know how an analysis waits for its slot (admission), which run a stop signal is for (stops), and that the
// next one starts while the outputs of those before are committed.
package dispatch
