package selftest

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/check/probe"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/listener"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/report"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/view"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// session is what the tests of one selftest share.
type session struct {
	host      *phase.Host
	id        string
	noAudit   bool
	view      view.View // of a run with the caller's flags
	dir       directory
	runs      *probe.Runs
	record    *report.Recorder
	listeners []*listener.Listener
}

func newSession(ctx context.Context, host *phase.Host, options Options) (*session, error) {
	s := &session{id: newID(), noAudit: options.NoAudit, record: report.NewRecorder(host.Version, options.Each)}
	var err error
	if s.view, err = view.Look(ctx, host, probe.Confined(options.Analysis), s.id); err != nil {
		return nil, err
	}
	if s.record.PolicySHA256, err = spec.PolicyDigest(s.view.Analysis, !options.NoAudit); err != nil {
		return nil, &request.Error{Err: err}
	}
	s.record.Note(view.RoomNotes(s.view.Analysis)...)
	if s.dir, err = makeDirectory(host.Tmp, s.id); err != nil {
		return nil, err
	}
	s.host = allowing(host, s.dir.Path)
	return s, nil
}

// allowing returns a host that may also bind what is in dir, which the caller has not requested. Binds forbidden to the
// caller were refused before.
func allowing(r *phase.Host, dir string) *phase.Host {
	wider := *r
	wider.AllowBinds = slices.Clone(r.AllowBinds)
	for i, a := range wider.AllowBinds {
		wider.AllowBinds[i].Prefixes = append(slices.Clone(a.Prefixes), dir)
	}
	return &wider
}

func newID() string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return "selftest-" + spec.NewID(time.Now(), random)
}

func (s *session) close() error {
	err := s.dir.Remove()
	for _, l := range s.listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}
