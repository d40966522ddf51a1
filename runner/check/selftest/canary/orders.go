package canary

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/exactjson"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Paths of the canary's files inside its run.
const (
	Dir         = "/inputs/scidex-selftest"
	ProgramPath = Dir + "/canary"
	OrdersPath  = Dir + "/orders"
	TurnPath    = Dir + "/turn"
)

// Orders say what a canary does.
type Orders struct {
	V int `json:"v"` // 1
	// ID of the run that the orders are for.
	ID string `json:"id"`
	// Marks are left where another run must not find them; nil for none.
	Marks *Marks `json:"marks,omitempty"`
	// Attempts are made at once, those of Later when the turn says so.
	Attempts []Attempt `json:"attempts"`
	Later    []Attempt `json:"later,omitempty"`
	// Linger makes a canary that only a kill ends.
	Linger bool `json:"linger,omitempty"`
}

// Attempt is one thing to try.
type Attempt struct {
	Do string `json:"do"`           // see Perform
	At string `json:"at,omitempty"` // address, path or number
	// With is a second argument of some attempts: paths to skip, an amount.
	With string `json:"with,omitempty"`
}

// Outcome is the result of an attempt: for each of its steps OK or the name of an error, or what was found.
type Outcome struct {
	Got map[string]string `json:"got"`
	// Count is how many things were checked. Partial means that there were more.
	Count   int64 `json:"count,omitempty"`
	Partial bool  `json:"partial,omitempty"`
}

// ready is the first line of a canary that leaves marks: they exist.
type ready struct {
	V     int    `json:"v"` // 1
	ID    string `json:"id"`
	Ready bool   `json:"ready"`
}

// answer is the last line of a canary: an outcome for each attempt in order, those of Later last.
type answer struct {
	V        int       `json:"v"` // 1
	ID       string    `json:"id"`
	Outcomes []Outcome `json:"outcomes"`
}

// Turns of a canary that leaves marks: it looks for those of the other canary, and ends.
const (
	TurnLook = "look"
	TurnEnd  = "end"
)

// readOrders reads the orders of a run. Its error is for a person who started a canary by hand.
func readOrders(path, id string) (o Orders, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return o, fmt.Errorf("only selftest starts a canary, inside a run: %w", err)
	}
	if err := decode(raw, &o); err != nil {
		return o, fmt.Errorf("orders: %w", err)
	}
	if o.V != 1 || o.ID == "" || o.ID != id || o.ID != os.Getenv("SCIDEX_ANALYSIS_ID") {
		return o, errors.New("only selftest starts a canary, inside a run: these orders are of another one")
	}
	return o, nil
}

// ParseReady reads the first line of the canary of a run.
func ParseReady(line []byte, id string) error {
	var r ready
	if err := decode(line, &r); err != nil {
		return err
	}
	if r != (ready{V: 1, ID: id, Ready: true}) {
		return errors.New("it is not ready, or another canary is")
	}
	return nil
}

// ParseAnswer reads the last line of the canary of a run with n attempts.
func ParseAnswer(line []byte, id string, n int) ([]Outcome, error) {
	var a answer
	if err := decode(line, &a); err != nil {
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

// decode reads a line that is one JSON value with known fields only.
func decode(line []byte, into any) error {
	if err := exactjson.Unmarshal(line, into); err != nil {
		return fmt.Errorf("it is not what a canary says: %w", err)
	}
	return nil
}

// Steps of an outcome, sorted.
func (o Outcome) Steps() []string { return slices.Sorted(maps.Keys(o.Got)) }

// String lists the steps with their results: "create EROFS, mkdir EROFS".
func (o Outcome) String() string {
	var list []string
	for _, step := range o.Steps() {
		list = append(list, strings.TrimSpace(step+" "+o.Got[step]))
	}
	return format.Cut(strings.Join(list, ", "), 400)
}

// maxListed bounds what one outcome lists.
const maxListed = 100

func (o *Outcome) list(name, result string) {
	if len(o.Got) < maxListed {
		o.Got[name] = result
	} else {
		o.Partial = true
	}
}
