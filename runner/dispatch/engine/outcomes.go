package engine

import (
	"slices"

	"github.com/scidex-ai/scidex-oci/runner/dispatch"
)

// maxRefused is how many outcomes are kept that the catalog does not have.
const maxRefused = 1024

// outcomes are the last ones by id.
type outcomes struct {
	by    map[string]dispatch.Outcome
	order []string
}

func (o *outcomes) add(id string, outcome dispatch.Outcome) {
	if _, again := o.by[id]; !again {
		o.order = append(o.order, id)
	}
	o.by[id] = outcome
	if len(o.order) > maxRefused {
		delete(o.by, o.order[0])
		o.order = o.order[1:]
	}
}

func (o *outcomes) forget(id string) {
	if _, kept := o.by[id]; kept {
		delete(o.by, id)
		o.order = slices.DeleteFunc(o.order, func(other string) bool { return other == id })
	}
}
