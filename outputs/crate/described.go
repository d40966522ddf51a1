package crate

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// described is the part of a metadata entity that is read. Other tools write numbers for our texts, or one text for a list.
type described struct {
	ID          string          `json:"@id"`
	Type        json.RawMessage `json:"@type"`
	ContentSize json.RawMessage `json:"contentSize"`
	SHA256      json.RawMessage `json:"sha256"`
}

// eachEntity calls take for each entity of a document's graph.
func eachEntity(from *json.Decoder, take func(described) error) error {
	if err := expect(from, json.Delim('{')); err != nil {
		return err
	}
	for from.More() {
		key, err := from.Token()
		if err != nil {
			return err
		}
		if key != "@graph" {
			var other json.RawMessage
			if err := from.Decode(&other); err != nil {
				return err
			}
			continue
		}
		if err := expect(from, json.Delim('[')); err != nil {
			return err
		}
		for from.More() {
			var e described
			if err := from.Decode(&e); err != nil {
				return err
			}
			if err := take(e); err != nil {
				return err
			}
		}
		if _, err := from.Token(); err != nil {
			return err
		}
	}
	_, err := from.Token()
	return err
}

func expect(from *json.Decoder, want json.Delim) error {
	token, err := from.Token()
	if err == nil && token != want {
		err = errors.New("it is no document of JSON-LD with a @graph")
	}
	return err
}

// named is a file in the metadata.
type named struct {
	size   int64
	sha256 string
	wrong  string // an error in the metadata
}

// graphFiles are the files that a graph names, by their paths.
type graphFiles map[string]named

func (all graphFiles) add(e described) error {
	if !e.isFile() || isElsewhere(e.ID) {
		return nil
	}
	path, err := url.PathUnescape(strings.TrimPrefix(e.ID, "./"))
	if err != nil {
		return fmt.Errorf("@id %q: %w", e.ID, err)
	}
	n := named{sha256: text(e.SHA256)}
	if n.size, err = strconv.ParseInt(text(e.ContentSize), 10, 64); err != nil || n.sha256 == "" {
		n.wrong = "named without its size or digest"
	}
	if _, twice := all[path]; twice {
		n.wrong = "named twice"
	}
	all[path] = n
	return nil
}

func (e described) isFile() bool {
	var several []string
	return text(e.Type) == "File" || json.Unmarshal(e.Type, &several) == nil && slices.Contains(several, "File")
}

// text is a string, or a number as written.
func text(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}

// isElsewhere reports whether a file is on the web instead of in the crate.
func isElsewhere(id string) bool {
	u, err := url.Parse(id)
	return err == nil && u.IsAbs()
}
