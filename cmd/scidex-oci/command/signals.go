package command

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/scidex-ai/scidex-oci/runner/request"
)

// StopSignals turns the signals that ask us to end into stops of the run until done is called. SIGPIPE is
// caught, so that a closed standard output does not kill us; it is not ignored, because that would be
// inherited.
func StopSignals() (stop <-chan request.StopSignal, done func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGPIPE)
	for s := range stopNames {
		// Notify would undo what nohup and a shell without job control have set. Package signal does not know that of SIGQUIT.
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	out := make(chan request.StopSignal, 2)
	finished := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				forward(s, out)
			case <-finished:
				return
			}
		}
	}()
	return out, func() { signal.Stop(signals); close(finished) }
}

// IgnoreNextStop is for when there is nothing left to stop, and only the result to print: the first signal that comes now
// would take that from the caller of a run that is committed. The second ends the wait for a reader of it. Those that
// came before are answered with the result.
func IgnoreNextStop(stop <-chan request.StopSignal) {
	signal.Reset(syscall.SIGPIPE)
	for range cap(stop) {
		select {
		case <-stop:
		default:
		}
	}
	go func() {
		<-stop
		os.Exit((<-stop).ExitCode)
	}()
}

// forward passes a signal on; more than the two that the runner acts on are dropped.
func forward(s os.Signal, out chan<- request.StopSignal) {
	stop, ok := stopOf(s)
	if !ok {
		return
	}
	select {
	case out <- stop:
	default:
	}
}

// stopNames are the signals that ask us to end: those of a terminal, of its end, and of kill(1).
var stopNames = map[syscall.Signal]string{
	syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP",
}

// stopOf is 128 and the signal's number, as a shell would say.
func stopOf(s os.Signal) (request.StopSignal, bool) {
	number, _ := s.(syscall.Signal)
	name, ok := stopNames[number]
	if !ok {
		return request.StopSignal{}, false
	}
	return request.StopSignal{ExitCode: 128 + int(number), Name: name}, true
}
