package runc

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/host/clock"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// Create makes a job's container, up to its first instruction.
func (s *session) Create(job sandbox.Job) (*sandbox.Created, error) {
	packed, err := s.pack(job)
	if err != nil {
		return nil, err
	}
	created, err := s.create(packed.job, packed.files)
	return created, errors.Join(err, packed.close())
}

// walls hold in every container: one without its namespaces is not made, and the init ends one without its filter of system calls.
var walls = sandbox.Walls{UserNamespace: true, Network: "none", Seccomp: "enforced"}

func (s *session) create(job protocol.Job, files []*os.File) (*sandbox.Created, error) {
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
		return nil, fmt.Errorf("the supervisor sent %d descriptors, and %d were due", len(m.Files), due)
	}
	c := &sandbox.Created{Stdout: m.Files[1], Stderr: m.Files[2], Walls: walls, Binds: m.Binds}
	if due > 3 {
		c.Listener = m.Files[3]
	}
	pidfd := m.Files[0]
	defer pidfd.Close()
	if c.Pid, err = pidOf(pidfd); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// pidOf reads the process id of a pidfd in this process's PID namespace: fdinfo translates it, whatever namespace the
// descriptor came from (pidfd_open(2)).
func pidOf(pidfd *os.File) (int, error) {
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

// Prepare starts a job's command ahead, and returns its note.
func (s *session) Prepare() (note string, err error) {
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
func (s *session) Start() error {
	if err := s.conn.Send(protocol.Message{Type: protocol.MsgStart}); err != nil {
		return s.lost(err)
	}
	return nil
}

// Suspend requests to stop all processes of the analysis and its clock.
func (s *session) Suspend() error { return s.conn.Send(protocol.Message{Type: protocol.MsgSuspend}) }

// Resume requests to continue a suspended analysis.
func (s *session) Resume() error { return s.conn.Send(protocol.Message{Type: protocol.MsgResume}) }

// Stop ends the analysis: SIGTERM now, SIGKILL after the job's grace period.
func (s *session) Stop() error { return s.conn.Send(protocol.Message{Type: protocol.MsgStop}) }

// Kill ends the analysis at once.
func (s *session) Kill() error { return s.conn.Send(protocol.Message{Type: protocol.MsgKill}) }

// Wait blocks until every process of the container is dead.
func (s *session) Wait(watch sandbox.Watch) (sandbox.Exit, error) {
	if s.exit != nil {
		return *s.exit, nil
	}
	for {
		m, err := s.receive()
		if err != nil {
			return sandbox.Exit{}, s.lost(err)
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
			return sandbox.Exit{}, errors.New(m.Error)
		default:
			return sandbox.Exit{}, fmt.Errorf("the supervisor said %q while the analysis ran", m.Type)
		}
	}
}

// Harvest walks a working directory into the ingest directory.
func (s *session) Harvest(h sandbox.Harvest, yield func(outputs.Entry) error) (outputs.Totals, error) {
	var files []*os.File
	if h.Left != nil {
		files = []*os.File{h.Left.Dir, h.Left.Ingest}
	}
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

// Clean empties a working directory, or gives it to root of the outer user namespace.
func (s *session) Clean(dir *os.File, keep bool, ingest *os.File) ([]outputs.Entry, error) {
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
