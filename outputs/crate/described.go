package crate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// described is an entity of the metadata: its properties by their exact names.
type described map[string]json.RawMessage

func (e described) id() string { return text(e["@id"]) }

// rest is what a document has in addition to its graph.
type rest struct {
	context json.RawMessage
	names   []string // of fields other than the context and the graph
}

// eachEntity calls take for each entity of a document's graph, and returns what else the document has. A name that is there twice is
// refused: readers take the first or the last.
func eachEntity(from *json.Decoder, take func(described) error) (other rest, err error) {
	if err := expect(from, json.Delim('{')); err != nil {
		return other, err
	}
	seen := map[string]bool{}
	for from.More() {
		key, err := from.Token()
		if err != nil {
			return other, err
		}
		name, _ := key.(string) // as in every object
		if seen[name] {
			return other, fmt.Errorf("%q is there twice", name)
		}
		seen[name] = true
		switch name {
		case "@graph":
			err = eachOf(from, take)
		case "@context":
			err = from.Decode(&other.context)
		default:
			var value json.RawMessage
			other.names = append(other.names, name)
			err = from.Decode(&value)
		}
		if err != nil {
			return other, err
		}
	}
	if _, err := from.Token(); err != nil {
		return other, err
	}
	if _, err := from.Token(); !errors.Is(err, io.EOF) {
		return other, errors.New("something follows the document")
	}
	return other, nil
}

// eachOf reads the list of entities, one at a time.
func eachOf(from *json.Decoder, take func(described) error) error {
	if err := expect(from, json.Delim('[')); err != nil {
		return err
	}
	for from.More() {
		var raw json.RawMessage
		var e described
		if err := from.Decode(&raw); err != nil {
			return err
		}
		if err := uniqueNames(raw); err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return err
		}
		if err := take(e); err != nil {
			return err
		}
	}
	_, err := from.Token()
	return err
}

// uniqueNames refuses an object that has a name twice, at any depth.
func uniqueNames(value json.RawMessage) error {
	from := json.NewDecoder(bytes.NewReader(value))
	var read func() error
	read = func() error {
		start, err := from.Token()
		if err != nil {
			return err
		}
		seen := map[json.Token]bool{}
		for (start == json.Delim('{') || start == json.Delim('[')) && from.More() {
			if start == json.Delim('{') {
				name, err := from.Token()
				if err != nil {
					return err
				}
				if seen[name] {
					return fmt.Errorf("%q is there twice", name)
				}
				seen[name] = true
			}
			if err := read(); err != nil {
				return err
			}
		}
		if start == json.Delim('{') || start == json.Delim('[') {
			_, err = from.Token()
		}
		return err
	}
	return read()
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
	if !e.isFile() || isElsewhere(e.id()) {
		return nil
	}
	path, err := url.PathUnescape(strings.TrimPrefix(e.id(), "./"))
	if err != nil {
		return fmt.Errorf("@id %q: %w", e.id(), err)
	}
	n := named{sha256: text(e["sha256"])}
	if n.size, err = strconv.ParseInt(text(e["contentSize"]), 10, 64); err != nil || n.sha256 == "" {
		n.wrong = "named without its size or digest"
	}
	if _, twice := all[path]; twice {
		n.wrong = "named twice"
	}
	all[path] = n
	return nil
}

func (e described) isFile() bool { return slices.Contains(e.types(), "File") }

func (e described) types() (several []string) {
	if json.Unmarshal(e["@type"], &several) != nil {
		return []string{text(e["@type"])}
	}
	return several
}

// text is a string, or a number as written: other tools write numbers for texts of Describe.
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
