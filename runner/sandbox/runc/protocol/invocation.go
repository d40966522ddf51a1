package protocol

import (
	"os"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

// SocketFD is the supervisor's descriptor for its end of the connection to the launcher.
const SocketFD = 3

const (
	// argv0 tells a supervisor from the other uses of its program.
	argv0 = "scidex-oci: supervisor"
	// traced is the argument of a supervisor whose launcher traces, followed by the time of its execve (trace.Now).
	traced = "trace="
)

// Arguments is the argument vector of a supervisor executed now.
func Arguments(traces bool) []string {
	if !traces {
		return []string{argv0}
	}
	return []string{argv0, traced + strconv.FormatInt(trace.Now(), 10)}
}

// Invoked reports whether this process was executed as a supervisor.
func Invoked() bool { return os.Args[0] == argv0 }

// Tracer is the supervisor's, nil if its launcher does not trace.
func Tracer() *trace.Tracer {
	if len(os.Args) < 2 || !strings.HasPrefix(os.Args[1], traced) {
		return nil
	}
	t := &trace.Tracer{}
	if executed, err := strconv.ParseInt(os.Args[1][len(traced):], 10, 64); err == nil {
		t.Add(trace.Span{Lane: trace.Supervisor, Name: "execute the supervisor", Start: executed, End: trace.Now()})
	}
	return t
}
