package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/standby"
	"github.com/scidex-ai/scidex-oci/spec"
)

const (
	// mostTemplates bounds the templates of a process at one time. Each takes the memory of what it has imported.
	mostTemplates = 4
	// mostTries bounds the templates that are made for one kind of analysis: a file that changes ends one.
	mostTries = 3
	// mostKinds bounds the kinds of analyses that are remembered.
	mostKinds = 1024
	// worthATemplate is how many analyses of a kind are seen before a template is made for the next ones.
	worthATemplate = 2
)

// Templates are what analyses are forked from (docs/adr/0038), one for each kind of analysis in a group that trusts each other.
type Templates struct {
	host *phase.Host
	like request.Request // what the requests have in common

	serve func(ctx context.Context, s *served, req request.Request) error // runs a template to its end

	mu     sync.Mutex
	kinds  map[string]*kind
	tasks  sync.WaitGroup
	closed bool
}

// kind are analyses that one template serves.
type kind struct {
	seen     int
	tries    int
	template *served // nil: none is made or serves
}

// served is a template from its start until the last run is over that was forked from it.
type served struct {
	pool    *standby.Pool
	begin   func(limits string) (*standby.Standby, error) // of the pool
	key     string                                        // what it was made for; empty: it cannot be forked from yet, or any more
	settle  func()                                        // closes settled, once
	settled chan struct{}                                 // closed when it can be forked from, or never will be
	runs    int
	used    time.Time
	stop    chan request.StopSignal
	dead    bool
}

func newServed() *served {
	settled := make(chan struct{})
	return &served{
		stop: make(chan request.StopSignal, 1), used: time.Now(), settled: settled, settle: sync.OnceFunc(func() { close(settled) }),
	}
}

// NewTemplates returns the templates for requests like this one. Close ends them.
func NewTemplates(host *phase.Host, like request.Request) *Templates {
	t := &Templates{host: host, like: like, kinds: map[string]*kind{}}
	t.serve = t.run
	return t
}

// Fork has a request forked from a template, where there is one for analyses of its kind in the group. The second analysis of a kind
// has one made, and it and those after it wait for the first one. done is called when the run is over.
func (t *Templates) Fork(ctx context.Context, group string, req *request.Request) (done func()) {
	if t == nil || !mayFork(req.Analysis) {
		return func() {}
	}
	s, first := t.forKind(ctx, group, req.Analysis)
	if first {
		req.Stop = s.await(ctx, req.Stop)
	}
	if s == nil || !t.use(s, req) {
		return func() {}
	}
	return func() { t.leave(s) }
}

// forKind is the template for an analysis, which may be made now; nil: none. first says that it is the first one of its kind.
func (t *Templates) forKind(ctx context.Context, group string, a spec.Analysis) (s *served, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kindOf(group, a)
	k.seen++
	if k.wantsTemplate() && !t.closed && t.room() {
		t.start(ctx, k, templateOf(a))
	}
	return k.template, k.template != nil && k.tries == 1
}

// await waits until analyses can be forked from a template, or never will be. A stop request ends the wait too: it comes first on the
// channel that await returns in place of stop.
func (s *served) await(ctx context.Context, stop <-chan request.StopSignal) <-chan request.StopSignal {
	select {
	case <-s.settled:
	case <-ctx.Done():
	case signal := <-stop:
		return after(ctx, signal, stop)
	}
	return stop
}

// after returns a channel with a signal and those that follow, until ctx ends.
func after(ctx context.Context, first request.StopSignal, rest <-chan request.StopSignal) <-chan request.StopSignal {
	all := make(chan request.StopSignal, 2)
	all <- first
	go func() {
		select {
		case second := <-rest:
			all <- second // a run heeds two
		case <-ctx.Done():
		}
	}()
	return all
}

// use has a request forked from a template, if that is possible now.
func (t *Templates) use(s *served, req *request.Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.key == "" {
		return false
	}
	launched, err := s.begin(req.Analysis.Limits)
	if err != nil {
		return false
	}
	req.Standby, req.Template = launched, s.key
	s.runs++
	s.used = time.Now()
	return true
}

// kindOf is the kind of an analysis.
func (t *Templates) kindOf(group string, a spec.Analysis) *kind {
	name := kindName(group, a)
	if t.kinds[name] == nil {
		if len(t.kinds) >= mostKinds {
			maps.DeleteFunc(t.kinds, func(_ string, k *kind) bool { return k.template == nil })
		}
		t.kinds[name] = &kind{}
	}
	return t.kinds[name]
}

// kindName is the same for analyses that one template may serve, as far as their requests say.
func kindName(group string, a spec.Analysis) string {
	name, _ := json.Marshal([]any{group, templateOf(a)}) // values that JSON has
	return string(name)
}

func (k *kind) wantsTemplate() bool {
	return k.template == nil && k.seen >= worthATemplate && k.tries < mostTries
}

// room reports whether there may be one more template. It ends the one that was not used for the longest time, if that is idle: then there
// is room for the next analysis.
func (t *Templates) room() bool {
	var all []*served
	for k := range maps.Values(t.kinds) {
		if k.template != nil {
			all = append(all, k.template)
		}
	}
	if len(all) < mostTemplates {
		return true
	}
	oldest := slices.MinFunc(all, func(a, b *served) int { return cmp.Compare(a.used.UnixNano(), b.used.UnixNano()) })
	if oldest.runs == 0 && oldest.key != "" {
		oldest.end()
	}
	return false
}

// end stops a template, once.
func (s *served) end() {
	s.key = ""
	select {
	case s.stop <- request.StopSignal{Name: "SIGKILL", Now: true}:
	default:
	}
}

// start makes a template in the background.
func (t *Templates) start(ctx context.Context, k *kind, a spec.Analysis) {
	k.tries++
	s := newServed()
	k.template = s
	req := t.like
	req.Analysis, req.Stop = a, s.stop
	t.tasks.Go(func() {
		if err := t.serve(ctx, s, req); err != nil {
			t.host.Log.Debug("there is no template", "error", err)
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		k.template, s.key, s.dead = nil, "", true
		s.settle()
		s.close()
	})
}

// run runs a template to its end, in a supervisor of its own.
func (t *Templates) run(ctx context.Context, s *served, req request.Request) (err error) {
	if s.pool, err = standby.NewPool(ctx, req.Analysis.Limits); err != nil {
		return err
	}
	s.begin = s.pool.Begin
	return serveTemplate(ctx, t.host, req, s.pool, func(key string) { t.ready(s, key) })
}

// ready lets analyses be forked from a template; without a key it is of no use, and ended.
func (t *Templates) ready(s *served, key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.key = key
	s.settle()
	if key == "" {
		s.end()
	}
}

// leave notes that a run is over that was forked from a template.
func (t *Templates) leave(s *served) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.runs--
	s.close()
}

// close ends the supervisor of a template when nothing of it is left.
func (s *served) close() {
	if s.dead && s.runs == 0 && s.pool != nil {
		s.pool.Close()
	}
}

// Close ends all templates. No run may be left that was forked from one.
func (t *Templates) Close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.closed = true
	for k := range maps.Values(t.kinds) {
		if k.template != nil {
			k.template.end()
		}
	}
	t.mu.Unlock()
	t.tasks.Wait()
}
