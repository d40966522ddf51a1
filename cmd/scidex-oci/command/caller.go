package command

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// LauncherName is the first argument of the launcher of a detached run.
const LauncherName = "scidex-oci (detached)"

// Descriptors of the launcher: its end of the socket to the command, and the descriptor of --events.
const (
	CallerFD = 3
	EventsFD = 4
)

// Caller is the command that started a detached run, as its launcher sees it.
type Caller struct {
	socket *os.File
	freed  atomic.Bool   // its streams were released
	broken chan struct{} // closed when the command died before the analysis began
	once   sync.Once     // closes broken
}

// ConnectCaller takes over the socket if args say that this is the launcher of a detached run. Otherwise it returns nil.
func ConnectCaller(args []string) (*Caller, error) {
	if len(args) == 0 || args[0] != LauncherName {
		return nil, nil // no launcher, no caller
	}
	unix.CloseOnExec(CallerFD)
	if err := unix.SetNonblock(CallerFD, true); err != nil {
		return nil, fmt.Errorf("%s is not for starting by hand: %w", LauncherName, err)
	}
	c := &Caller{socket: os.NewFile(CallerFD, "caller"), broken: make(chan struct{})}
	go func() {
		_, _ = c.socket.Read(make([]byte, 1)) // nothing is ever sent
		if !c.freed.Load() {
			c.Abandon()
		}
	}()
	return c, nil
}

// Abandon stops the run as if the command had died: the user does not know of the run.
func (c *Caller) Abandon() { c.once.Do(func() { close(c.broken) }) }

// The launcher's answer when the analysis has started: whether the id of the run could be printed.
const (
	Announced    = 1
	NotAnnounced = 2
)

// Release closes the streams of the command and signals it to exit.
func (c *Caller) Release(answer byte) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for fd := range 3 {
		if err := unix.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	c.freed.Store(true)
	_, err = c.socket.Write([]byte{answer})
	return errors.Join(err, c.socket.Close())
}

// Stops forwards stop signals except SIGHUP, and adds SIGTERM if the command dies before the analysis has started.
func (c *Caller) Stops(signals <-chan request.StopSignal) <-chan request.StopSignal {
	out := make(chan request.StopSignal, 2)
	go func() {
		broken := c.broken
		for {
			stop := request.StopSignal{ExitCode: outcome.SignalBase + int(unix.SIGTERM), Name: "the death of the command that started it"}
			select {
			case stop = <-signals:
				if stop.Name == "SIGHUP" {
					continue
				}
			case <-broken:
				broken = nil
			}
			stop.Send(out)
		}
	}()
	return out
}
