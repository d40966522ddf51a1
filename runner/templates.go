package runner

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/standby"
	"github.com/scidex-ai/scidex-oci/spec"
)

// mostTemplates bounds the templates of a process at one time. Each takes the memory of what it has imported.
const mostTemplates = 4

// mostTries bounds the templates that are made for one kind of analysis: a file that changes ends one.
const mostTries = 3

// worthATemplate is how many analyses of a kind are seen before a template is made for the next ones.
const worthATemplate = 2

// Templates are what the analyses of one caller are forked from (docs/adr/0038), one for each kind of analysis. All of its kinds
// trust their modules as they trust the interpreter.
type Templates struct {
	host *phase.Host
	like request.Request // what the requests have in common

	mu    sync.Mutex
	kinds map[string]*kind
	alive int
	pools []*standby.Pool // one for each template that was made: its forks may outlive it
	tasks sync.WaitGroup
	stop  []chan request.StopSignal // nil: closed
}

// kind are analyses that one template serves.
type kind struct {
	seen   int
	tries  int
	making bool          // or serving
	pool   *standby.Pool // nil: there is no template yet, or no more
	key    string
}

// NewTemplates returns the templates for requests like this one. Close ends them.
func NewTemplates(host *phase.Host, like request.Request) *Templates {
	return &Templates{host: host, like: like, kinds: map[string]*kind{}, stop: []chan request.StopSignal{}}
}

// Begin returns what a run of the analysis is started with where there is a template for it, and what that was made for. Where
// there is none, standby is nil: one may be made for the next analyses.
func (t *Templates) Begin(ctx context.Context, a spec.Analysis) (_ *standby.Standby, template string) {
	if t == nil || !mayFork(a) {
		return nil, ""
	}
	name, err := json.Marshal(templateOf(a))
	if err != nil {
		return nil, ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kinds[string(name)]
	if k == nil {
		k = &kind{}
		t.kinds[string(name)] = k
	}
	if k.seen++; k.pool != nil {
		if s, err := k.pool.Begin(a.Limits); err == nil {
			return s, k.key
		}
	}
	if k.seen >= worthATemplate && !k.making && k.tries < mostTries && t.alive < mostTemplates && t.stop != nil {
		t.start(ctx, k, templateOf(a))
	}
	return nil, ""
}

// start makes a template in the background.
func (t *Templates) start(ctx context.Context, k *kind, a spec.Analysis) {
	k.making = true
	k.tries++
	t.alive++
	req, stop := t.like, make(chan request.StopSignal, 1)
	req.Analysis, req.Stop = a, stop
	t.stop = append(t.stop, stop)
	t.tasks.Go(func() {
		if err := t.serve(ctx, k, req); err != nil {
			t.host.Log.Debug("there is no template", "error", err)
		}
	})
}

// serve runs a template to its end.
func (t *Templates) serve(ctx context.Context, k *kind, req request.Request) error {
	defer t.ended(k)
	pool, err := standby.NewPool(ctx, req.Analysis.Limits)
	if err != nil {
		return err
	}
	t.keep(pool)
	return serveTemplate(ctx, t.host, req, pool, func(key string) {
		t.mu.Lock()
		defer t.mu.Unlock()
		k.pool, k.key = pool, key
	})
}

// keep has a pool closed when no run is left.
func (t *Templates) keep(pool *standby.Pool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pools = append(t.pools, pool)
}

// ended lets another template be made for a kind.
func (t *Templates) ended(k *kind) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k.pool, k.making = nil, false
	t.alive--
}

// Close ends all templates. No run that was forked from one may be left.
func (t *Templates) Close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	for _, stop := range t.stop {
		stop <- request.StopSignal{Name: "SIGKILL", Now: true}
	}
	t.stop = nil
	t.mu.Unlock()
	t.tasks.Wait()
	for _, pool := range t.pools {
		pool.Close()
	}
}
