package selftest

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// member is the run of one canary.
type member struct {
	id     string
	speech speech
	words  head // the beginning of its standard error
	stop   chan request.StopSignal
	ended  chan struct{}
	result result.Result // once it has ended
	err    error
}

// tell passes a signal on; more than the two that a run acts on are dropped.
func (m *member) tell(signal request.StopSignal) {
	select {
	case m.stop <- signal:
	default:
	}
}

// overdueAfter is how long a run may go on after its timeout: where that does not hold, the test must end
// all the same.
const overdueAfter = 20 * time.Second

// end asks a run to end, and insists.
func (m *member) end() {
	for range 2 {
		m.tell(request.StopSignal{ExitCode: result.SignalBase + int(unix.SIGTERM), Name: "SIGTERM"})
	}
}

// line returns the next line of a canary, or why there is none.
func (m *member) line() ([]byte, error) {
	select {
	case line := <-m.speech.lines:
		return line, nil
	case <-m.ended:
	}
	select {
	case line := <-m.speech.lines:
		return line, nil
	default:
		return nil, fmt.Errorf("it ended without an answer: %s%s", m.result.Message, m.words.parenthesis())
	}
}

// wait waits for the end of a run. The error says that the run could not be made.
func (m *member) wait() error {
	<-m.ended
	switch {
	case m.err != nil:
		return m.err
	case m.result.State == catalog.Error, m.result.State == catalog.Lost:
		return fmt.Errorf("run %s: %s", m.id, m.result.Message)
	case m.result.Reason == result.ReasonNotInvocable, m.result.Reason == result.ReasonNotFound:
		return fmt.Errorf("run %s: %s; the canary is below --tmp: give a directory of a file system that is not mounted noexec", m.id, m.result.Message)
	}
	return nil
}
