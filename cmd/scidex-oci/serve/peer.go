package serve

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/scidex-ai/scidex-oci/internal/suggest"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine/rpc"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
	"github.com/scidex-ai/scidex-oci/spec"
)

// peer is a connection with its caller.
type peer struct {
	server
	conn   *rpc.Conn
	caller *engine.Caller
	reader *engine.Reader
}

func (s server) newPeer(ctx context.Context, conn *rpc.Conn) *peer {
	return &peer{server: s, conn: conn, caller: s.Engine.NewCaller(), reader: s.Engine.NewReader(context.WithoutCancel(ctx))}
}

// serve serves the caller to its end. What it had handed to its runs and, killed, has left is removed after them.
func (p *peer) serve(ctx context.Context) error {
	err := p.conn.Serve(ctx, p.handle, p.leave)
	p.Engine.SweepContent()
	return err
}

// leave ends what the caller has open.
func (p *peer) leave() {
	p.caller.Close()
	p.reader.Close()
}

// methods are what a caller can ask for.
var methods = map[string]func(p *peer, ctx context.Context, r rpc.Request) (any, error){
	"run": (*peer).run, "submit": (*peer).submit, "wait": (*peer).wait, "stop": (*peer).stop,
	"list": (*peer).list, "show": (*peer).show, "cancel": (*peer).cancel, "logs": (*peer).logs,
	"outputs": (*peer).outputs, "read": (*peer).read, "export": (*peer).export, "doctor": (*peer).doctor,
}

// inOrder are the methods after which the next request waits until theirs has its place in the queue.
var inOrder = []string{"run", "submit"}

// handle answers a request.
func (p *peer) handle(ctx context.Context, r rpc.Request) (any, error) {
	method, ok := methods[r.Method]
	if !ok {
		names := slices.Sorted(maps.Keys(methods))
		return nil, rpc.Errorf(rpc.CodeNoMethod, "method %q: give one of %s%s", r.Method, strings.Join(names, ", "), suggest.DidYouMean(r.Method, names, ""))
	}
	if !slices.Contains(inOrder, r.Method) {
		r.Taken()
	}
	answer, err := method(p, ctx, r)
	if err != nil {
		return nil, inParams(coded(err))
	}
	return answer, nil
}

// inParams is an error with the names of parameters, and not of the flags and commands that a person would type.
func inParams(err error) error {
	var known *rpc.Error
	if !errors.As(err, &known) {
		text := params(err.Error())
		if text == err.Error() {
			return err
		}
		return rpc.Errorf(rpc.CodeFailed, "%s", text)
	}
	known.Message = params(known.Message)
	return known
}

var flag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`--[a-z][a-z-]*`) })

// params is a sentence with the names of parameters.
func params(sentence string) string {
	sentence = strings.ReplaceAll(sentence, `see "scidex-oci ls"`, `"list" has them`)
	return flag().ReplaceAllStringFunc(sentence, func(word string) string {
		if word == "--overwrite" {
			return `"overwrite": true`
		}
		for _, f := range spec.Fields() {
			if "--"+f.Flag == word {
				return f.Name
			}
		}
		return word
	})
}

// cancelParams are the parameters of cancel.
type cancelParams struct {
	ID json.RawMessage `json:"id"` // of a request in progress
}

// canceledAnswer says whether there was such a request.
type canceledAnswer struct {
	Canceled bool `json:"canceled"`
}

// cancel cancels a request in progress of this connection.
func (p *peer) cancel(_ context.Context, r rpc.Request) (any, error) {
	var params cancelParams
	if bad := r.Read(&params); bad != nil {
		return nil, bad
	}
	if len(params.ID) == 0 {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "params: id is missing; give that of the request")
	}
	return canceledAnswer{p.conn.Cancel(params.ID)}, nil
}

// sink passes the events of a run on as notifications. Optional ones are dropped while the caller does not read.
type sink struct {
	out     *rpc.Out
	mu      sync.Mutex
	dropped event.Dropped
}

// Put passes an event on.
func (s *sink) Put(e event.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Optional() && s.out.Full() {
		s.dropped.Count(e)
		return nil
	}
	if s.dropped != (event.Dropped{}) {
		dropped := s.dropped
		e.Dropped, s.dropped = &dropped, event.Dropped{}
	}
	s.out.Notify("event", e)
	return nil
}

// Finish passes the end of a run on.
func (s *sink) Finish(r result.Result) error {
	return s.Put(event.New(event.TypeFinished, r.ID, r))
}
