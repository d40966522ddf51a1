package rpc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/internal/exactjson"
)

// Codes of errors. Those from -32700 to -32600 are of the specification, that of Canceled is of the Language Server Protocol.
const (
	CodeParse          = -32700 // the line is no JSON, not UTF-8, too long, or does not end
	CodeInvalidRequest = -32600 // it is no request
	CodeNoMethod       = -32601
	CodeInvalidParams  = -32602 // the message names the field
	CodeInternal       = -32603
	CodeFailed         = -32000 // it could not be done
	CodeNotFound       = -32001 // no such run or output
	CodeBusy           = -32002 // too many requests are in progress
	CodeDraining       = -32003 // no new runs are taken any more
	CodeCanceled       = -32800 // by Cancel, or because the caller has gone
)

// Error is an error of a response. The message is one sentence.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Errorf makes an error.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Request is a request. Its id is a string or an integer, as it was given.
type Request struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage // an object; "{}" if the message has none or null
	taken  func()
}

// Taken lets the next request of the connection start. One that has to keep its place before that calls it when it has it; the
// end of its handler does so too.
func (r Request) Taken() { r.taken() }

// response answers a request; the id is null if it is not known.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// notification has no answer.
type notification struct {
	Version string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

const version = "2.0"

// maxID bounds an id in bytes.
const maxID = 256

// parse reads a request. An error is answered with the request's id if that could be read.
func parse(line []byte) (Request, *Error) {
	if !utf8.Valid(line) { // an id comes back as it is
		return Request{}, Errorf(CodeParse, "the line is not UTF-8; JSON is (RFC 8259)")
	}
	if line[0] == '[' {
		return Request{}, Errorf(CodeInvalidRequest, "an array of requests is not taken; give one request a line")
	}
	var raw struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	var syntax *json.SyntaxError
	switch err := strict(line, &raw); {
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, errMore):
		return Request{}, Errorf(CodeParse, "malformed JSON: %v; give one JSON object a line", err)
	case err != nil:
		return Request{ID: validID(raw.ID)}, Errorf(CodeInvalidRequest, "no request: %v", err)
	}
	r := Request{ID: validID(raw.ID), Params: json.RawMessage("{}")}
	switch {
	case r.ID == nil:
		return r, Errorf(CodeInvalidRequest, "id %s: give a string or an integer of at most %d bytes", shown(raw.ID), maxID)
	case raw.Version != version:
		return r, Errorf(CodeInvalidRequest, `jsonrpc %q: give "2.0"`, raw.Version)
	case raw.Method == nil:
		return r, Errorf(CodeInvalidRequest, "method is missing")
	}
	r.Method = *raw.Method
	if len(raw.Params) > 0 && string(raw.Params) != "null" {
		r.Params = raw.Params
	}
	if r.Params[0] != '{' {
		return r, Errorf(CodeInvalidParams, "params: give an object of named parameters")
	}
	return r, nil
}

// shown is an id in a message.
func shown(id json.RawMessage) string {
	switch {
	case len(id) == 0:
		return "is missing"
	case len(id) > maxID:
		return "is too long"
	}
	return string(id)
}

// validID returns an id that is a string or an integer, else nil.
func validID(id json.RawMessage) json.RawMessage {
	var text string
	isString := json.Unmarshal(id, &text) == nil && !bytes.Equal(id, []byte("null"))
	if len(id) > maxID || !isString && !isInteger(id) {
		return nil
	}
	return id
}

func isInteger(id []byte) bool {
	digits := bytes.TrimPrefix(id, []byte("-"))
	return len(digits) > 0 && len(bytes.Trim(digits, "0123456789")) == 0
}

var errMore = errors.New("more follows the object")

// strict reads one object with known fields only.
func strict(text []byte, to any) error {
	switch err := exactjson.Unmarshal(text, to); {
	case errors.Is(err, exactjson.ErrMore):
		return errMore
	case err != nil:
		return named(err, to)
	}
	return nil
}

// named says which field of a struct an error is about.
func named(err error, of any) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: give %s, not %s", cmp.Or(wrong.Field, "it"), kindOf(wrong.Type.String()), article(wrong.Value))
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("unknown field %s; known are %s", field, strings.Join(fields(of), ", "))
	}
	return err
}

// fields are the names of the fields of a struct in JSON.
func fields(of any) (names []string) {
	for _, field := range reflect.VisibleFields(reflect.TypeOf(of).Elem()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// Read reads the parameters into a struct. Its error names the field.
func (r Request) Read(to any) *Error {
	if err := strict(r.Params, to); err != nil {
		return Errorf(CodeInvalidParams, "params: %v", err)
	}
	return nil
}

// kindOf is what JSON calls a type of Go.
func kindOf(t string) string {
	switch {
	case t == "string" || t == "json.RawMessage":
		return "a string"
	case t == "bool":
		return "true or false"
	case strings.HasPrefix(t, "int"):
		return "an integer"
	case strings.HasPrefix(t, "[]"):
		return "an array"
	}
	return "an object"
}

func article(kind string) string {
	if strings.ContainsAny(kind[:1], "aeio") {
		return "an " + kind
	}
	return "a " + kind
}
