package runner

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/standby"
	"github.com/scidex-ai/scidex-oci/spec"
)

// idle are templates that serve nothing until they are stopped. made counts them.
func idle(made *atomic.Int64) *Templates {
	t := NewTemplates(&phase.Host{Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, request.Request{})
	t.serve = func(_ context.Context, s *served, req request.Request) error {
		made.Add(1)
		s.begin = func(string) (*standby.Standby, error) { return nil, nil }
		t.ready(s, "key")
		<-req.Stop
		return nil
	}
	return t
}

func ask(t *testing.T, all *Templates, group string, a spec.Analysis) {
	t.Helper()
	all.Fork(t.Context(), group, &request.Request{Analysis: a})()
}

// alive is how many templates there are now.
func (t *Templates) alive() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range t.kinds {
		if k.template != nil {
			n++
		}
	}
	return n
}

// has reports whether a template is made or serves for an analysis.
func (t *Templates) has(a spec.Analysis) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kindOf("", a).template != nil
}

// TestTemplatesAreWorthIt: the second analysis of a kind has a template made, and what cannot be forked has none.
func TestTemplatesAreWorthIt(t *testing.T) {
	var made atomic.Int64
	all := idle(&made)
	defer all.Close()
	script := spec.Analysis{Script: "a.py"}
	for _, a := range []spec.Analysis{
		{Command: []string{"true"}},
		{Script: "a.py", Project: "."},
		{Script: "a.py", Warm: spec.None},
		{Script: "a.py", Preload: spec.None},
		{Script: "a.py", Limits: spec.LimitsOuter},
	} {
		ask(t, all, "", a)
		ask(t, all, "", a)
	}
	ask(t, all, "", script)
	ask(t, all, "other", script)
	script.Labels = map[string]string{"a": "b"}
	if all.alive() != 0 {
		t.Errorf("%d templates", all.alive())
	}
	ask(t, all, "", script)
	if all.alive() != 1 {
		t.Errorf("%d templates, want one", all.alive())
	}
	var none *Templates
	ask(t, none, "", script)
	none.Close()
}

// TestTemplatesGiveWay: there are four at most, and the one that was used least ends for a further kind. All end with Close, after
// which none is made.
func TestTemplatesGiveWay(t *testing.T) {
	var made atomic.Int64
	all := idle(&made)
	kindOf := func(i int) spec.Analysis { return spec.Analysis{Script: fmt.Sprintf("%d.py", i)} }
	for i := range mostTemplates {
		ask(t, all, "", kindOf(i))
		ask(t, all, "", kindOf(i))
	}
	for !all.has(kindOf(mostTemplates)) {
		ask(t, all, "", kindOf(mostTemplates)) // until the one that gives way has ended
		if n := all.alive(); n > mostTemplates {
			t.Fatalf("%d templates", n)
		}
	}
	all.mu.Lock()
	for name, k := range all.kinds {
		if (k.template == nil) != (name == kindName("", kindOf(0))) {
			t.Errorf("%s: %+v", name, k.template)
		}
	}
	all.mu.Unlock()
	all.Close()
	if all.alive() != 0 {
		t.Errorf("%d templates after Close", all.alive())
	}
	ask(t, all, "", kindOf(1))
	if all.alive() != 0 {
		t.Error("one is made after Close")
	}
}

// TestTemplatesAreTriedAgain, but not for ever: a template that ends at once is made three times.
func TestTemplatesAreTriedAgain(t *testing.T) {
	var made atomic.Int64
	all := idle(&made)
	all.serve = func(context.Context, *served, request.Request) error {
		made.Add(1)
		return nil
	}
	for range 10 {
		ask(t, all, "", spec.Analysis{Script: "a.py"})
		all.tasks.Wait()
	}
	all.Close()
	if made.Load() != mostTries {
		t.Errorf("it was made %d times, want %d", made.Load(), mostTries)
	}
}

// TestTemplatesForgetKinds: of very many kinds those without a template are forgotten.
func TestTemplatesForgetKinds(t *testing.T) {
	var made atomic.Int64
	all := idle(&made)
	defer all.Close()
	kept := spec.Analysis{Script: "kept.py"}
	ask(t, all, "", kept)
	ask(t, all, "", kept)
	for i := range mostKinds + 10 {
		ask(t, all, "", spec.Analysis{Script: fmt.Sprint(i, ".py")})
	}
	if !all.has(kept) || len(all.kinds) > mostKinds {
		t.Errorf("of %d kinds the one with a template is kept: %v", len(all.kinds), all.has(kept))
	}
}

// TestTemplatesAreAwaited: the second analysis of a kind, and the third, are forked, or go on without where none is ready. A stop ends
// the wait, and is passed on with the next one.
func TestTemplatesAreAwaited(t *testing.T) {
	var made atomic.Int64
	all, goOn := idle(&made), make(chan bool)
	serve := all.serve
	all.serve = func(ctx context.Context, s *served, req request.Request) error {
		if <-goOn {
			return serve(ctx, s, req)
		}
		all.ready(s, "")
		<-req.Stop // it would stay for ever
		return nil
	}
	for script, works := range map[string]bool{"a.py": true, "b.py": false} {
		a := spec.Analysis{Script: script}
		ask(t, all, "", a)
		forked := make(chan string, 2)
		for range cap(forked) {
			go func() {
				req := request.Request{Analysis: a}
				defer all.Fork(t.Context(), "", &req)()
				forked <- req.Template
			}()
		}
		stop := make(chan request.StopSignal, 2)
		stop <- request.StopSignal{Name: "SIGINT"}
		stop <- request.StopSignal{Name: "SIGTERM"}
		req := request.Request{Analysis: a, Stop: stop}
		all.Fork(t.Context(), "", &req)()
		if first, second := <-req.Stop, <-req.Stop; first.Name != "SIGINT" || second.Name != "SIGTERM" || req.Template != "" {
			t.Errorf("%s: stopped by %q, then %q, forked by %q", script, first.Name, second.Name, req.Template)
		}
		goOn <- works
		for range cap(forked) {
			if key := <-forked; (key == "key") != works {
				t.Errorf("%s: forked from %q", script, key)
			}
		}
	}
	close(goOn) // one that was asked late may have had another made
	all.Close()
}
