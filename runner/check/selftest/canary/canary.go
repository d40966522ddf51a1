// Package canary is the program that a selftest runs as its analysis. It makes the attempts that its orders name, and
// writes their outcomes. The launcher makes some of the same attempts outside of the sandbox, as a control.
//
// No attempt does harm if it succeeds: it opens files for writing but writes nothing, truncates a file only if an rlimit
// forbids that, and tries to remove a file only by a call that cannot remove it.
package canary

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

// Command is the word on the command line that makes this program a canary.
const Command = "selftest-canary"

// MaxLife is how long a canary may take: it may have to search much of a host. It is also how long one waits for the other.
const MaxLife = 30 * time.Minute

// Run makes the attempts of the orders and writes their outcomes. It refuses to run outside the run that the orders are
// for.
func Run(stdout io.Writer, id string) error {
	// First, because Go opens descriptors.
	descriptors := openDescriptors()
	runtime.GOMAXPROCS(2) // a thread for each processor of a large host would exceed the limits
	o, err := readOrders(OrdersPath, id)
	if err != nil {
		return err
	}
	line := answer{V: 1, ID: o.ID, Outcomes: []Outcome{}}
	perform := func(attempts []Attempt) {
		for _, a := range attempts {
			outcome := descriptors
			if a.Do != "descriptors" {
				outcome = Perform(a)
			}
			line.Outcomes = append(line.Outcomes, outcome)
		}
	}
	if o.Marks != nil {
		if err := announce(stdout, o); err != nil {
			return err
		}
	}
	perform(o.Attempts)
	if o.Marks != nil {
		if err := awaitTurn(TurnLook); err != nil {
			return err
		}
	}
	perform(o.Later)
	if err := json.NewEncoder(stdout).Encode(line); err != nil {
		return err
	}
	switch {
	case o.Linger:
		linger()
	case o.Marks != nil:
		return awaitTurn(TurnEnd) // the marks exist until the other one has looked
	}
	return nil
}

func announce(stdout io.Writer, o Orders) error {
	if err := o.Marks.leave(); err != nil {
		fmt.Fprintln(os.Stderr, "marks:", err)
	}
	return json.NewEncoder(stdout).Encode(ready{V: 1, ID: o.ID, Ready: true})
}

// awaitTurn waits until the launcher has written the turn, or a later one.
func awaitTurn(turn string) error {
	for end := time.Now().Add(MaxLife); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		now, err := os.ReadFile(TurnPath)
		if err != nil {
			return err
		}
		if string(now) == turn || string(now) == TurnEnd {
			return nil
		}
	}
	return errors.New("no canary has this turn: " + turn)
}
