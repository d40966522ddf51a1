package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestNothing: what is not traced needs no tracer.
func TestNothing(t *testing.T) {
	tracer := From(With(t.Context(), nil))
	if tracer != nil {
		t.Fatal("a context without a tracer has one")
	}
	tracer.Span(Run, "a")()
	tracer.Add(Span{})
	called := false
	if err := tracer.Do(Run, "b", func() error { called = true; return nil }); err != nil || !called {
		t.Errorf("called: %v, %v", called, err)
	}
	steps := tracer.Steps(Init)
	steps.Done("c")
	steps.DoneAt("d", 1)
	if spans := tracer.Take(); spans != nil {
		t.Errorf("spans %v", spans)
	}
	if n := testing.AllocsPerRun(100, func() { tracer.Span(Run, "a")() }); n != 0 {
		t.Errorf("a span that nobody wants takes %v allocations", n)
	}
}

// TestSpans: a phase within another one lies within it, and what was taken is gone.
func TestSpans(t *testing.T) {
	tracer := From(With(context.Background(), &Tracer{}))
	outer := tracer.Span(Run, "outer")
	tracer.Span(Run, "inner")()
	outer()
	spans := tracer.Take()
	if len(spans) != 2 || spans[0].Name != "inner" || spans[1].Name != "outer" {
		t.Fatalf("spans %v", spans)
	}
	inner, around := spans[0], spans[1]
	if inner.Start < around.Start || inner.End > around.End || inner.Start > inner.End {
		t.Errorf("%v is not within %v", inner, around)
	}
	if again := tracer.Take(); len(again) != 0 {
		t.Errorf("taken twice: %v", again)
	}
}

// TestSteps: one begins where the one before has ended, also where a time comes late.
func TestSteps(t *testing.T) {
	tracer := &Tracer{}
	steps := tracer.Steps(Init)
	began := steps.last
	steps.DoneAt("a", began+10)
	steps.DoneAt("b", began+5)
	steps.DoneAt("c", began+30)
	want := []Span{{Init, "a", began, began + 10}, {Init, "b", began + 10, began + 10}, {Init, "c", began + 10, began + 30}}
	if spans := tracer.Take(); !slices.Equal(spans, want) {
		t.Errorf("steps %v, want %v", spans, want)
	}
}

// TestWrite holds the form against what Chrome's trace events are.
func TestWrite(t *testing.T) {
	tracer := &Tracer{}
	tracer.Add(Span{Supervisor, "within", 2_000, 3_500}, Span{Supervisor, `of "two"`, 2_000, 4_000}, Span{Run, "first", 1_000, 1_001})
	var text bytes.Buffer
	if err := tracer.Write(&text, map[string]string{"id": "x"}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		TraceEvents []struct {
			Name, Ph string
			PID, TID int
			TS, Dur  *float64
			Args     map[string]any
		}
		OtherData map[string]string
	}
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatalf("%v in %s", err, text.String())
	}
	var names []string
	for _, e := range got.TraceEvents {
		switch e.Ph {
		case "X":
			names = append(names, e.Name)
			if e.Name == "within" && (*e.TS != 1 || *e.Dur != 1.5 || e.PID != supervisor) {
				t.Errorf("within: %v for %v in %d", *e.TS, *e.Dur, e.PID)
			}
		case "M":
			if e.TS != nil || e.Args == nil {
				t.Errorf("metadata %+v", e)
			}
		default:
			t.Errorf("an event of phase %q", e.Ph)
		}
	}
	if want := []string{"first", `of "two"`, "within"}; !slices.Equal(names, want) || got.OtherData["id"] != "x" {
		t.Errorf("events %q of %v, want %q", names, got.OtherData, want)
	}
	for lane := range lanes {
		if _, name := lane.row(); !strings.Contains(text.String(), `"name":"`+name+`"`) {
			t.Errorf("lane %q has no name", name)
		}
	}
}

// TestNothingToWrite: a trace without a span is one all the same.
func TestNothingToWrite(t *testing.T) {
	var text bytes.Buffer
	if err := (&Tracer{}).Write(&text, nil); err != nil || !json.Valid(text.Bytes()) {
		t.Errorf("%v, %s", err, text.String())
	}
}

// TestBirth: a process has started before it asks.
func TestBirth(t *testing.T) {
	if began, now := Birth(); began >= now || now > Now() {
		t.Errorf("began at %d, now it is %d", began, now)
	}
}
