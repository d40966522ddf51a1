package engine

import (
	"slices"

	"github.com/scidex-ai/scidex-oci/runner/dispatch"
)

// maxRefused is how many results are kept that the catalog does not have.
const maxRefused = 1024

// refusals are the last results of analyses that became no run, by id.
type refusals struct {
	by    map[string]dispatch.LineResult
	order []string
}

func (l *refusals) add(id string, r dispatch.LineResult) {
	if _, again := l.by[id]; !again {
		l.order = append(l.order, id)
	}
	l.by[id] = r
	if len(l.order) > maxRefused {
		delete(l.by, l.order[0])
		l.order = l.order[1:]
	}
}

func (l *refusals) forget(id string) {
	if _, kept := l.by[id]; kept {
		delete(l.by, id)
		l.order = slices.DeleteFunc(l.order, func(other string) bool { return other == id })
	}
}
