package supervisor

import (
	"os"

	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// launcher is the other end of a session.
type launcher struct {
	conn  *protocol.Conn
	trace *trace.Tracer // nil: nothing is traced
}

// tell sends an unsolicited message. A dead launcher ends this process through the connection.
func (l launcher) tell(m protocol.Message) { _ = l.conn.Send(m) }

// reply answers a message, with the trace since the last answer.
func (l launcher) reply(m protocol.Message, files ...*os.File) error {
	m.Spans = l.trace.Take()
	return l.conn.Send(m, files...)
}

// fail answers a message with the error, if there is one.
func (l launcher) fail(err error) {
	if err != nil {
		_ = l.reply(protocol.Message{Type: protocol.MsgFailed, Error: err.Error()})
	}
}

// span starts a phase of the supervisor.
func (l launcher) span(name string) (end func()) { return l.trace.Span(trace.Supervisor, name) }
