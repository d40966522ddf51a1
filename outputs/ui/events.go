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

// streamMax is for how long a stream goes on. A browser asks again; one that is gone without a word does not.
const streamMax = 10 * time.Minute

// events is the stream of what a page shows that changes: of one run, or of all that go on.
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
	if err := control.SetReadDeadline(time.Time{}); err != nil { // that of the request would end this
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return nil
	}
	s.stream(ctx, streamTo{w, control}, look)
	return nil
}

// looking is what makes the next event of a stream, and says whether it is the last.
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
	run, err := s.house.Runs.Find(r.Context(), values.Get("id"))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (event, bool, error) {
		return s.lookAt(ctx, run.Key, values.Get("here") == "true")
	}, nil
}

// lookAt is how one run is doing. Once it has ended, or is here when it was not, that is another page.
func (s *Server) lookAt(ctx context.Context, key catalog.Key, here bool) (event, bool, error) {
	run, err := s.house.Runs.Find(ctx, key.String())
	if err != nil {
		return event{}, false, err
	}
	going := Going{}
	if !run.State.Final() {
		going = s.house.Life.Look(ctx, run)
	}
	if run.State.Final() || going.Here != here {
		return event{"end", ""}, true, nil
	}
	one, err := s.single(ctx, run, going)
	return event{"run", one}, false, err
}

// streamTo is a client that takes events.
type streamTo struct {
	http.ResponseWriter
	control *http.ResponseController
}

// stream sends what has changed since the last look, until ctx ends or the client is gone.
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
			return // the browser asks again
		}
		text, err := next.text()
		if err != nil {
			s.log.Error("an event was not written", "error", err)
			return
		}
		if bytes.Equal(text, last) {
			text = []byte(":\n\n") // a comment, by which one sees whether the client is there
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

// text is the event as it goes over the line. JSON has no newline.
func (e event) text() ([]byte, error) {
	data, err := json.Marshal(e.data)
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", e.name, data), err
}

func (t streamTo) send(text []byte) error {
	if err := t.control.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return err
	}
	if _, err := t.Write(text); err != nil {
		return err
	}
	return t.control.Flush()
}
