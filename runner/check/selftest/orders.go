package selftest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Where a canary finds what it needs, inside.
const (
	insideDir   = "/inputs/scidex-selftest"
	programPath = insideDir + "/canary"
	ordersPath  = insideDir + "/orders"
	turnPath    = insideDir + "/turn"
)

// orders are what a canary is told.
type orders struct {
	V int `json:"v"` // 1
	// ID of the run; whoever is not in that run is no canary.
	ID string `json:"id"`
	// Marks are left where another run must not find them; nil: none.
	Marks *marks `json:"marks,omitempty"`
	// Tries are made at once, those of Later when the turn says so.
	Tries []try `json:"tries"`
	Later []try `json:"later,omitempty"`
	// Linger is true for a canary that does not end by itself.
	Linger bool `json:"linger,omitempty"`
}

// try is one attempt.
type try struct {
	Do string `json:"do"`           // see perform
	At string `json:"at,omitempty"` // address, path or number
	// With is what some attempts need beside: the name of a file, an amount.
	With string `json:"with,omitempty"`
}

// outcome is what became of a try: for each of its steps "ok" or the name of an error, or what was found.
type outcome struct {
	Got map[string]string `json:"got"`
	// Count is how many things were looked at; Partial is true where there were more.
	Count   int64 `json:"count,omitempty"`
	Partial bool  `json:"partial,omitempty"`
}

// ready is the first line of a canary that leaves marks: they are there.
type ready struct {
	V     int    `json:"v"` // 1
	ID    string `json:"id"`
	Ready bool   `json:"ready"`
}

// answer is the last line of a canary: an outcome for each try, in their order, those of Later behind.
type answer struct {
	V        int       `json:"v"` // 1
	ID       string    `json:"id"`
	Outcomes []outcome `json:"outcomes"`
}

// The turns of a canary that leaves marks: look for those of the other one, and end.
const (
	turnLook = "look"
	turnEnd  = "end"
)

// readOrders reads what a canary is told. Its error is for somebody who started a canary by hand.
func readOrders(path, id string) (o orders, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return o, fmt.Errorf("only selftest starts a canary, inside a run: %w", err)
	}
	if err := strictly(raw, &o); err != nil {
		return o, fmt.Errorf("orders: %w", err)
	}
	if o.V != 1 || o.ID == "" || o.ID != id || o.ID != os.Getenv("SCIDEX_ANALYSIS_ID") {
		return o, errors.New("only selftest starts a canary, inside a run: these orders are of another one")
	}
	return o, nil
}

// parseReady reads the first line of the canary of a run.
func parseReady(line []byte, id string) error {
	var r ready
	if err := strictly(line, &r); err != nil {
		return err
	}
	if r != (ready{V: 1, ID: id, Ready: true}) {
		return errors.New("it is not ready, or another canary is")
	}
	return nil
}

// parseAnswer reads the last line of the canary of a run that was told to make n tries.
func parseAnswer(line []byte, id string, n int) ([]outcome, error) {
	var a answer
	if err := strictly(line, &a); err != nil {
		return nil, err
	}
	switch {
	case a.V != 1 || a.ID != id:
		return nil, errors.New("it is the answer of another canary")
	case len(a.Outcomes) != n:
		return nil, fmt.Errorf("it answers %d of %d tries", len(a.Outcomes), n)
	}
	return a.Outcomes, nil
}

// strictly reads one JSON value with known fields only and nothing behind it.
func strictly(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("it is not what a canary says: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("it says more than one thing in a line")
	}
	return nil
}
