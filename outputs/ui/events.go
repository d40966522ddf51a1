package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// event is one of a stream (https://html.spec.whatwg.org/multipage/server-sent-events.html).
type event struct {
	name string
	data any
}

// streamMax bounds a stream. A live browser reconnects; a client that vanished does not.
const streamMax = 10 * time.Minute

// events streams the changing parts of a page: of one run, or of all that are active.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	look, err := s.looking(r)
	if err != nil {
		return err
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		return refuse(http.StatusServiceUnavailable, "Too many pages are open that show what goes on; close some.")
	}
	ctx, cancel := context.WithTimeout(r.Context(), streamMax)
	defer cancel()
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Time{}); err != nil { // else it would end the stream
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return nil
	}
	s.stream(ctx, streamTo{w, control}, look)
	return nil
}

// looking returns the source of a stream: the next event, and whether it is the last.
func (s *Server) looking(r *http.Request) (func(context.Context) (event, bool, error), error) {
	values, err := query(r, "id", "here")
	if err != nil {
		return nil, err
	}
	if values.Get("id") == "" {
		return func(ctx context.Context) (event, bool, error) {
			b, err := s.board(ctx)
			return event{"runs", b}, false, err
		}, nil
	}
	run, err := s.stores.Runs.Find(r.Context(), values.Get("id"))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (event, bool, error) {
		return s.lookAt(ctx, run.Key, values.Get("here") == "true")
	}, nil
}

// lookAt is the status of one run. Once it has ended, or is here now, it needs another page.
func (s *Server) lookAt(ctx context.Context, key catalog.Key, here bool) (event, bool, error) {
	run, err := s.stores.Runs.Find(ctx, key.String())
	if err != nil {
		return event{}, false, err
	}
	going := Active{}
	if !run.State.Final() {
		going = s.stores.Life.Look(ctx, run)
	}
	if run.State.Final() || going.Here != here {
		return event{"end", ""}, true, nil
	}
	one, err := s.single(ctx, run, going)
	return event{"run", one}, false, err
}

// streamTo is a client of a stream.
type streamTo struct {
	http.ResponseWriter
	control *http.ResponseController
}

// stream sends what changed since the last event until ctx ends or the client leaves.
func (s *Server) stream(ctx context.Context, to streamTo, look func(context.Context) (event, bool, error)) {
	ticker := time.NewTicker(s.tick)
	defer ticker.Stop()
	var last []byte
	for {
		next, over, err := look(ctx)
		if err != nil {
			if ctx.Err() == nil {
				s.log.Warn("a page is not kept up to date", "error", err)
			}
			return // the browser reconnects
		}
		text, err := next.text()
		if err != nil {
			s.log.Error("an event was not written", "error", err)
			return
		}
		if bytes.Equal(text, last) {
			text = []byte(":\n\n") // a comment, to detect a disconnected client
		} else {
			last = text
		}
		if to.send(text) != nil || over {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// text is the event in wire format. JSON has no newline.
func (e event) text() ([]byte, error) {
	data, err := json.Marshal(e.data)
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", e.name, data), err
}

func (t streamTo) send(text []byte) error {
	if err := t.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := t.Write(text); err != nil {
		return err
	}
	return t.control.Flush()
}
