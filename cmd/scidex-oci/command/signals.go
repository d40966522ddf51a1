package command

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/scidex-ai/scidex-oci/runner/request"
)

// StopSignals turns termination signals into stops of the run until done is called. SIGPIPE is caught, so that a closed
// standard output does not kill us; it is not ignored, because that would be inherited.
func StopSignals() (stop <-chan request.StopSignal, done func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGPIPE)
	for s := range stopNames {
		// Notify would undo what nohup and a shell without job control have set. Package signal misses that of SIGQUIT.
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

// OnStopSignals is for a command that runs analyses for others until a signal ends it: it calls drain with the first signal and
// hurry with the second, and ends the process with the third. One that forOne passes on to a single run does not count.
func OnStopSignals(forOne func(request.StopSignal) bool, drain, hurry func(request.StopSignal)) (done func()) {
	signals, done := StopSignals()
	exit := func(s request.StopSignal) { os.Exit(s.ExitCode) }
	go func() {
		for _, act := range []func(request.StopSignal){drain, hurry, exit} {
			s := <-signals
			for forOne(s) {
				s = <-signals
			}
			act(s)
		}
	}()
	return done
}

// IgnoreNextStop is for when only the result is left to print: the first signal that comes now would take it from the caller
// of a committed run. The second one ends the wait for its reader. The result answers earlier ones.
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
	if stop, ok := stopOf(s); ok {
		stop.Send(out)
	}
}

// stopNames are the termination signals: of a terminal, of its end, and of kill(1).
var stopNames = map[syscall.Signal]string{
	syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP",
}

// stopOf is 128 plus the signal's number, as in a shell.
func stopOf(s os.Signal) (request.StopSignal, bool) {
	number, _ := s.(syscall.Signal)
	name, ok := stopNames[number]
	if !ok {
		return request.StopSignal{}, false
	}
	return request.StopSignal{ExitCode: 128 + int(number), Name: name}, true
}
