package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/host/clock"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
)

// Created is a container at the gate.
type Created struct {
	// Pid is the container's first process in the launcher's namespace.
	Pid            int
	Stdout, Stderr *os.File // read ends
	Walls          protocol.Walls
	// Listener is the socket of protocol.Job.Listen; nil: none.
	Listener *os.File
	pidfd    *os.File
}

// Close closes what the launcher still holds open.
func (c *Created) Close() error {
	return errors.Join(c.pidfd.Close(), c.Stdout.Close(), c.Stderr.Close(), c.LetGo())
}

// LetGo closes the listening socket, which a process of its own has then, or none.
func (c *Created) LetGo() error {
	if c.Listener == nil {
		return nil
	}
	defer func() { c.Listener = nil }()
	return c.Listener.Close()
}

// Create makes a job's container, up to its first instruction.
func (s *Session) Create(job protocol.Job, files []*os.File) (*Created, error) {
	if err := s.conn.Send(protocol.Message{Type: protocol.MsgJob, Job: &job}, files...); err != nil {
		return nil, s.lost(err)
	}
	m, err := s.expect(protocol.MsgCreated)
	if err != nil {
		return nil, err
	}
	due := 3
	if job.Listen != 0 {
		due = 4
	}
	if len(m.Files) != due {
		protocol.Discard(m.Files)
		return nil, fmt.Errorf("the supervisor sent %d descriptors where %d were due", len(m.Files), due)
	}
	c := &Created{pidfd: m.Files[0], Stdout: m.Files[1], Stderr: m.Files[2], Walls: m.Walls}
	if due > 3 {
		c.Listener = m.Files[3]
	}
	c.Pid, err = PidOf(c.pidfd)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// PidOf reads the process id of a pidfd in this process's PID namespace: fdinfo translates it, whatever namespace the
// descriptor came from (pidfd_open(2)).
func PidOf(pidfd *os.File) (int, error) {
	f, err := os.Open("/proc/self/fdinfo/" + strconv.Itoa(int(pidfd.Fd())))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "Pid:"); ok {
			pid, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil || pid <= 0 {
				return 0, fmt.Errorf("the container's process has no pid here (%q)", value)
			}
			return pid, nil
		}
	}
	return 0, errors.New("fdinfo of a pidfd has no Pid")
}

// Prepare starts a job's command ahead (protocol.Job), and returns what it says: see preload.Read. A container that ends
// meanwhile says nothing; Wait returns its end.
func (s *Session) Prepare() (note string, err error) {
	if err := s.conn.Send(protocol.Message{Type: protocol.MsgPrepare}); err != nil {
		return "", s.lost(err)
	}
	for {
		m, err := s.receive()
		switch {
		case err != nil:
			return "", s.lost(err)
		case m.Type == protocol.MsgPrepared:
			return m.Note, nil
		case m.Type == protocol.MsgFailed:
			return "", errors.New(m.Error)
		case m.Type == protocol.MsgExited:
			s.exit = m.Exit
		case m.Type != protocol.MsgKilled:
			return "", fmt.Errorf("the supervisor said %q before the analysis", m.Type)
		}
	}
}

// Start opens the gate.
func (s *Session) Start() error {
	if err := s.conn.Send(protocol.Message{Type: protocol.MsgStart}); err != nil {
		return s.lost(err)
	}
	return nil
}

// Suspend requests to stop all processes of the analysis and its clock.
func (s *Session) Suspend() error { return s.conn.Send(protocol.Message{Type: protocol.MsgSuspend}) }

// Resume requests to continue a suspended analysis.
func (s *Session) Resume() error { return s.conn.Send(protocol.Message{Type: protocol.MsgResume}) }

// Stop ends the analysis: SIGTERM now, SIGKILL after the job's grace period.
func (s *Session) Stop() error { return s.conn.Send(protocol.Message{Type: protocol.MsgStop}) }

// Kill ends the analysis at once.
func (s *Session) Kill() error { return s.conn.Send(protocol.Message{Type: protocol.MsgKill}) }

// Watch receives events of a running analysis.
type Watch struct {
	Started func(at time.Time)
	// Landlock is called before Started with the version of Landlock that holds the analysis, 0 where the kernel has none; nil: none.
	Landlock func(version int)
	Usage    func(protocol.Usage)
	// Suspended and Resumed answer Suspend and Resume; Resumed is also called when the analysis is being stopped. The
	// error says what could not be stopped.
	Suspended func(error)
	Resumed   func()
	// Killed is called when the supervisor kills the analysis; nil: none. It must not block.
	Killed func()
}

// Wait blocks until every process of the container is dead.
func (s *Session) Wait(watch Watch) (protocol.Exit, error) {
	if s.exit != nil {
		return *s.exit, nil
	}
	for {
		m, err := s.receive()
		if err != nil {
			return protocol.Exit{}, s.lost(err)
		}
		switch m.Type {
		case protocol.MsgStarted:
			if watch.Landlock != nil {
				watch.Landlock(m.Landlock)
			}
			watch.Started(clock.At(m.At))
		case protocol.MsgUsage:
			watch.Usage(*m.Usage)
		case protocol.MsgSuspended:
			watch.Suspended(m.Failure())
		case protocol.MsgResumed:
			watch.Resumed()
		case protocol.MsgKilled:
			if watch.Killed != nil {
				watch.Killed()
			}
		case protocol.MsgExited:
			return *m.Exit, nil
		case protocol.MsgFailed:
			return protocol.Exit{}, errors.New(m.Error)
		default:
			return protocol.Exit{}, fmt.Errorf("the supervisor said %q while the analysis ran", m.Type)
		}
	}
}

// Harvest walks the working directory into the ingest directory and yields every entry. It returns the first error of
// yield; further entries are received and discarded.
func (s *Session) Harvest(h protocol.Harvest, yield func(outputs.Entry) error) (outputs.Totals, error) {
	return s.harvest(h, yield)
}

// HarvestOf is Harvest for a run whose supervisor is dead: of h.Below in dir. It needs no job.
func (s *Session) HarvestOf(dir, ingest *os.File, h protocol.Harvest, yield func(outputs.Entry) error) (outputs.Totals, error) {
	return s.harvest(h, yield, dir, ingest)
}

func (s *Session) harvest(h protocol.Harvest, yield func(outputs.Entry) error, files ...*os.File) (outputs.Totals, error) {
	if err := s.conn.Send(protocol.Message{Type: protocol.MsgHarvest, Harvest: &h}, files...); err != nil {
		return outputs.Totals{}, s.lost(err)
	}
	var failed error
	for {
		m, err := s.receive()
		switch {
		case err != nil:
			return outputs.Totals{}, s.lost(err)
		case m.Type == protocol.MsgHarvested:
			return *m.Totals, failed
		case m.Type == protocol.MsgFailed:
			return outputs.Totals{}, errors.New(m.Error)
		case m.Type != protocol.MsgEntries:
			return outputs.Totals{}, fmt.Errorf("the supervisor said %q during the harvest", m.Type)
		}
		for _, e := range m.Entries {
			if failed == nil {
				failed = yield(e)
			}
		}
	}
}

// Clean removes everything below a working directory, or, with keep, gives it to root of the outer namespace: an ordinary
// caller itself. It needs no job. It returns what was in a tmpfs and could not be kept, at most a few hundred entries. If
// ingest is not nil, kept files get back their modes of before the harvest into it.
func (s *Session) Clean(dir *os.File, keep bool, ingest *os.File) ([]outputs.Entry, error) {
	files := []*os.File{dir}
	if ingest != nil {
		files = append(files, ingest)
	}
	if err := s.conn.Send(protocol.Message{Type: protocol.MsgClean, Clean: &protocol.Clean{Keep: keep}}, files...); err != nil {
		return nil, s.lost(err)
	}
	m, err := s.expect(protocol.MsgCleaned)
	return m.Entries, err
}
