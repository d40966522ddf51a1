package selftest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

// turnWait is how long a canary waits for its turn: as long as the other one may live.
const turnWait = time.Duration(leastTimeout)

// Canary is the analysis of a selftest: it makes the tries that its orders name and writes what became of
// them. It refuses to do anything outside the run that the orders are for.
func Canary(stdout io.Writer, id string) error {
	// Before anything is opened: Go opens descriptors of its own.
	descriptors := openDescriptors()
	runtime.GOMAXPROCS(2) // on a large host a thread for each processor would be too much for the limits
	o, err := readOrders(ordersPath, id)
	if err != nil {
		return err
	}
	made := func(t try) outcome {
		if t.Do == "descriptors" {
			return descriptors
		}
		return perform(t)
	}
	said := answer{V: 1, ID: o.ID, Outcomes: []outcome{}}
	if o.Marks != nil {
		if err := announce(stdout, o); err != nil {
			return err
		}
	}
	for _, t := range o.Tries {
		said.Outcomes = append(said.Outcomes, made(t))
	}
	if o.Marks != nil {
		if err := awaitTurn(turnLook); err != nil {
			return err
		}
	}
	for _, t := range o.Later {
		said.Outcomes = append(said.Outcomes, made(t))
	}
	if err := json.NewEncoder(stdout).Encode(said); err != nil {
		return err
	}
	switch {
	case o.Linger:
		linger()
	case o.Marks != nil:
		return awaitTurn(turnEnd) // the marks are there until the other one has looked
	}
	return nil
}

func announce(stdout io.Writer, o orders) error {
	if err := o.Marks.leave(); err != nil {
		fmt.Fprintln(os.Stderr, "marks:", err)
	}
	return json.NewEncoder(stdout).Encode(ready{V: 1, ID: o.ID, Ready: true})
}

// awaitTurn waits until the launcher has written the turn, or a later one.
func awaitTurn(turn string) error {
	for end := time.Now().Add(turnWait); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		now, err := os.ReadFile(turnPath)
		if err != nil {
			return err
		}
		if string(now) == turn || string(now) == turnEnd {
			return nil
		}
	}
	return errors.New("it is nobody's turn: " + turn)
}
